"""Reconstruction: a network gives back its inputs, an output for each of their numbers.

ntkexp train data=mnist objective=reconstruction model.width=30 'probe=[]' optim.steps=100
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from torch import Tensor

from ntkexp.errors import UserError
from ntkexp.objectives.base import Loss, Objective
from ntkexp.objectives.squared_error import SquaredErrorLoss

if TYPE_CHECKING:
    from ntkexp.data.dataset import Dataset, Split


@dataclass
class Reconstruction(Objective):
    """l(f, x) = |f - x|^2 / 2 for the inputs x as the network sees them, flattened. Kernels of so
    many outputs are large: choose probes that need none."""

    def outputs(self, inputs: tuple[int, ...], usual: int) -> int:
        return math.prod(inputs)

    def seen(self, dataset: Dataset) -> Dataset:
        if not dataset.sees_examples_as_they_are:
            raise UserError(
                "objective=reconstruction: targets are the examples as they are; expected data "
                "without a stream and data.augment=none"
            )
        train, test = _of_inputs(dataset.train), _of_inputs(dataset.test)
        return replace(dataset, train=train, test=test, classes=None)

    def build(self, targets: Tensor, classes: int | None) -> Loss:
        return SquaredErrorLoss(targets.shape[1])


def _of_inputs(split: Split) -> Split:
    numbers = split.inputs.flatten(1)
    return replace(split, targets=numbers, clean_targets=numbers)
