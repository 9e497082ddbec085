"""How well the relaxed model predicts, beside the network and its linearisation: ours, not a
statement of "An Adaptive Tangent Feature Perspective of Neural Networks" (LeJeune, Alemohammad).

ntkexp study +exp=adaptive/relaxed

All three learn the same digits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from ntkexp import models
from ntkexp.data import Split
from ntkexp.data.fitted_digits import FittedDigits, chosen
from ntkexp.data.images.sources import read
from ntkexp.models.bias_free_mlp import BiasFreeMlp
from ntkexp.options import MOST_SEEDS, SEED, count, each, option, positive, whole
from ntkexp.probes.relaxed_model import layers_of
from ntkexp.progress import Progress
from ntkexp.results.table import Table, float64, int64, string
from ntkexp.studies.base import Found, Part, Study
from ntkexp.studies.low_rank_change import FULL, LowRankChange, outputs_of, trained
from ntkexp.theory.adaptive.penalties import Fixed, Penalty, Power
from ntkexp.theory.adaptive.solver import adapt
from ntkexp.theory.float64 import Array, array

SQUARE, FIXED = Power(2), Fixed()
MOST_DIGITS = 12_089  # 2s and 3s among MNIST's training images

ACCURACY = Table(
    "relaxed_accuracy",
    "one model of one seed's first n digits 2 and 3, classes as -1 and +1",
    {
        "seed": int64("of weights and points"),
        "n": int64("training points"),
        "model": string("`network`, `linearised` (min-norm in its first features) or `relaxed`"),
        "train_error": float64("mean of (f - y)^2 on the training points"),
        "test_error": float64("the same on MNIST's test digits"),
        "accuracy": float64("share of test digits whose class the sign of f tells"),
    },
)


@dataclass
class RelaxedAccuracy(Study):
    """The relaxed model W -> M_1 W M_2 is solved for, with |v - 1|^2 on both sides."""

    tables: ClassVar = (ACCURACY,)
    small: ClassVar = {"seeds": 1, "width": 64, "iterations": 50}

    seed: int = option(0, SEED, "the first of the seeds")
    seeds: int = option(10, count("seeds", most=MOST_SEEDS), "networks of each size")
    sizes: list[int] = option(
        [125, 250, 500, 1000, 2000],
        each(whole(1, MOST_DIGITS, "training points"), 1),
        "numbers of training images",
    )
    width: int = option(128, count("units"), "units of a hidden layer")
    iterations: int = option(200, count("iterations"), "iterations of the solver")
    tolerance: float = option(1e-5, positive(1), "gain below which the solver stops")
    error: float = option(1e-3, positive(1e6), "the mean error at which training ends")
    lr: float = option(0.2, positive(), "learning rate")
    batch_size: int = option(100, count("examples"), "images of an update")
    epochs: int = option(500, count("epochs"), "passes over the training images")

    def files(self) -> Mapping[str, str]:
        return FittedDigits().files()

    def parts(self) -> list[Part]:
        seeds = range(self.seed, self.seed + self.seeds)
        return [partial(of_size, self, seed, n) for seed in seeds for n in self.sizes]


def of_size(config: RelaxedAccuracy, seed: int, n: int) -> Found:
    """Three models of one seed on n points."""
    digits = FittedDigits()
    train, test = (
        Split.clean(inputs.float(), signs.float())
        for inputs, signs in (
            chosen(digits, read("mnist", "train"), seed, "subset", n),
            chosen(digits, read("mnist", "test"), seed, "test_subset", None),
        )
    )
    network = models.build(BiasFreeMlp(width=config.width), (1, 28, 28), 1, seed)
    rows = [
        {"model": name, **errors(on_train, train), **on_test(others, test)}
        for name, on_train, others in predictions(config, network, train, test, seed)
    ]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return {ACCURACY.name: {"seed": seed, "n": n, **columns}}


def predictions(
    config: RelaxedAccuracy, network: nn.Module, train: Split, test: Split, seed: int
) -> Iterator[tuple[str, Array, Array]]:
    """(model, outputs on the training points, outputs on the test digits)."""
    training = LowRankChange(
        lr=config.lr, batch_size=config.batch_size, epochs=config.epochs, error=config.error
    )
    weights = trained(training, network, train, FULL, seed).weights
    yield (
        "network",
        _array(outputs_of(network, weights, train.inputs)),
        _array(outputs_of(network, weights, test.inputs)),
    )
    with torch.no_grad():
        start = [_array(network(split.inputs)[:, 0]) for split in (train, test)]
    of_train, of_test = (layers_of(network, split.inputs) for split in (train, test))
    r = _array(train.targets) - start[0]
    two_sided: list[tuple[Penalty, Penalty]] = [(SQUARE, SQUARE) for _ in of_train]
    two_sided[-1] = (FIXED, SQUARE)
    one_step = [(FIXED, FIXED) for _ in of_train]
    for name, sides in (("linearised", one_step), ("relaxed", two_sided)):
        # With 8,000 points this takes minutes; reporting progress lets a signal stop it.
        with Progress(name, config.iterations, shown=False) as progress:
            solution = adapt(
                [*of_train.values()],
                r,
                sides,
                iterations=config.iterations,
                tolerance=config.tolerance,
                after_each=progress.advance,
            )
        added = [
            array(
                sum(
                    np.einsum("np,np->n", layer.v @ B, layer.u)
                    for layer, B in zip(layers.values(), solution.B, strict=True)
                )
            )
            for layers in (of_train, of_test)
        ]
        yield name, array(start[0] + added[0]), array(start[1] + added[1])


def errors(outputs: Array, split: Split) -> dict[str, float]:
    return {"train_error": float(np.mean((outputs - _array(split.targets)) ** 2))}


def on_test(outputs: Array, split: Split) -> dict[str, float]:
    targets = _array(split.targets)
    return {
        "test_error": float(np.mean((outputs - targets) ** 2)),
        "accuracy": float(np.mean((outputs > 0) == (targets > 0))),
    }


def _array(values: Tensor) -> Array:
    return array(values.detach().double().numpy())
