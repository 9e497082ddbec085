"""The network, its linearisation and its relaxed model on the same digits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn

from ntkexp import models
from ntkexp.data import Split
from ntkexp.data.fitted_digits import FittedDigits
from ntkexp.data.images.linear_targets import chosen
from ntkexp.data.images.sources import read
from ntkexp.models.bias_free_mlp import BiasFreeMlp
from ntkexp.probes.computations.relaxed_model import layers_of
from ntkexp.progress import Progress
from ntkexp.studies.base import Frames
from ntkexp.studies.computations.low_rank_change import outputs_of, trained
from ntkexp.studies.low_rank_change import FULL, LowRankChange
from ntkexp.studies.relaxed_accuracy import ACCURACY, RelaxedAccuracy
from ntkexp.theory.adaptive.penalties import Fixed, Penalty, Power
from ntkexp.theory.adaptive.solver import adapt
from ntkexp.theory.float64 import Array, array

SQUARE, FIXED = Power(2), Fixed()


def of_size(config: RelaxedAccuracy, seed: int, n: int) -> Frames:
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
    return {ACCURACY.name: ACCURACY.frame({"seed": seed, "n": n, **columns})}


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
    here, there = (layers_of(network, split.inputs) for split in (train, test))
    r = _array(train.targets) - start[0]
    two_sided: list[tuple[Penalty, Penalty]] = [(SQUARE, SQUARE) for _ in here]
    two_sided[-1] = (FIXED, SQUARE)
    one_step = [(FIXED, FIXED) for _ in here]
    for name, sides in (("linearised", one_step), ("relaxed", two_sided)):
        # With 8,000 points this takes minutes. Who tells of progress is stopped by a signal.
        with Progress(name, config.iterations, shown=False) as told:
            found = adapt(
                [*here.values()],
                r,
                sides,
                iterations=config.iterations,
                tolerance=config.tolerance,
                after_each=told.advance,
            )
        added = [
            array(
                sum(
                    np.einsum("np,np->n", one.v @ B, one.u)
                    for one, B in zip(layers.values(), found.B, strict=True)
                )
            )
            for layers in (here, there)
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
