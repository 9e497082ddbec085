"""Runs and their tables, as the probes of a run would have left them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ntkexp.results.record import Record

STEPS = (0, 10, 100, 1000, 10000)
SPLITS = ("train", "test")
Curve = Sequence[float]

LEARNING = (0.1, 0.2, 0.4, 0.8, 1.0)
OVERFITTING = (0.1, 0.3, 0.7, 0.6, 0.5)


def record(
    experiment: str, tables: Mapping[str, pd.DataFrame], *, seed: int = 0, **config: object
) -> Record:
    run = f"{experiment}-{seed}-{config}"
    return Record(experiment, run, {"name": experiment, "seed": seed, **config}, tables)


def rows(axes: Mapping[str, Iterable[object]], **values: Any) -> pd.DataFrame:
    """A row for every combination of the axes.

    A value is a function of the row's, or an array of the axes' shape, or one that has that shape
    when it is broadcast:

    >>> rows({"split": ["train", "test"], "step": [0, 9]}, subset="all", loss=[[2, 1], [4, 3]])
       split  step subset  loss
    0  train     0    all     2
    1  train     9    all     1
    2   test     0    all     4
    3   test     9    all     3
    """
    points = {name: [*axis] for name, axis in axes.items()}
    frame = pd.MultiIndex.from_product(points.values(), names=[*points]).to_frame(index=False)
    shape = tuple(map(len, points.values()))
    combinations = frame.to_dict("records")
    for name, value in values.items():
        if callable(value):
            frame[name] = [value(**one) for one in combinations]
        else:
            frame[name] = np.broadcast_to(np.asarray(value), shape).ravel()
    return frame


def evals(
    train: Curve = LEARNING, test: Curve = OVERFITTING, steps: Sequence[int] = STEPS
) -> pd.DataFrame:
    """Accuracies on both splits."""
    return rows({"split": SPLITS, "step": steps}, subset="all", accuracy=(train, test))


def spectrum(
    train: ArrayLike,
    test: ArrayLike | None = None,
    steps: Sequence[int] = STEPS,
    centring: str = "class",
) -> pd.DataFrame:
    """`train` and `test` are (looks, ranks): the eigenvalues on each split, alike unless given."""
    both = np.stack([train, train if test is None else test])
    axes = {"split": SPLITS, "step": steps, "rank": range(1, both.shape[2] + 1)}
    return rows(axes, layer="total", centring=centring, eigenvalue=both)


def alignment(
    train: Curve,
    test: Curve,
    layers: Sequence[Curve] = (),
    steps: Sequence[int] = STEPS,
    centring: str = "class",
) -> pd.DataFrame:
    """Of the whole network, and of layers, which are the same on both splits."""
    names = ["total", *(f"layer{index}" for index in range(len(layers)))]
    return rows(
        {"split": SPLITS, "layer": names, "step": steps},
        layer_index=np.arange(-1, len(layers))[:, None],
        subset="all",
        centring=centring,
        cka=[[train, *layers], [test, *layers]],
    )
