"""Reconstruction: a network gives back its inputs, an output for each of their numbers.

ntkexp train data=mnist objective=reconstruction model.width=30 'probe=[]' optim.steps=100
ntkexp train data=mnist data.standardise=none objective=reconstruction objective.loss=bernoulli \
    model=autoencoder 'probe=[]' optim.steps=100
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional

from ntkexp.errors import UserError
from ntkexp.objectives.base import Loss, Objective
from ntkexp.objectives.squared_error import SquaredErrorLoss
from ntkexp.options import option

if TYPE_CHECKING:
    from ntkexp.data.dataset import Dataset, Split


class ReconstructionLoss(StrEnum):
    """squared: |f - x|^2 / 2. bernoulli: the cross-entropy of shades x in [0, 1] and outputs f that
    are log-odds, mean over pixels; 784 times that of MNIST is in nats an image."""

    squared = "squared"
    bernoulli = "bernoulli"


@dataclass
class Reconstruction(Objective):
    """The inputs x as the network sees them, flattened, are the targets. Kernels of so many outputs
    are large: choose probes that need none."""

    loss: ReconstructionLoss = option(
        ReconstructionLoss.squared, about="squared, or bernoulli for shades from 0 to 1"
    )

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
        if self.loss is ReconstructionLoss.squared:
            return SquaredErrorLoss(targets.shape[1])
        least, most = float(targets.min()), float(targets.max())
        if least < 0 or most > 1:
            raise UserError(
                f"objective.loss=bernoulli: the inputs go from {least:.3g} to {most:.3g}; expected "
                "0 to 1, for images data.standardise=none"
            )
        return BernoulliLoss(targets.shape[1])


@dataclass(frozen=True)
class BernoulliLoss:
    """l(f, x) = mean over pixels of log(1 + exp f) - x f, of log-odds f."""

    outputs: int

    def losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        shades = targets.to(outputs.dtype)
        of_pixels = functional.binary_cross_entropy_with_logits(outputs, shades, reduction="none")
        return of_pixels.mean(-1)

    def losses_and_slopes(self, outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        logits = outputs.detach()
        slopes = (logits.sigmoid() - targets.to(logits.dtype)) / self.outputs
        return self.losses(logits, targets), slopes

    def correct(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return outputs.new_full((len(outputs),), torch.nan)

    def sample(self, outputs: Tensor, generator: torch.Generator) -> Tensor:
        shares = outputs.detach().sigmoid().to(generator.device)
        return shares.bernoulli(generator=generator).to(outputs.device)

    def roots(self, outputs: Tensor) -> Iterator[Tensor]:
        shares = outputs.detach().sigmoid()
        spreads = (shares * (1 - shares)).sqrt() / self.outputs
        for pixel in range(self.outputs):
            slopes = torch.zeros_like(spreads)
            slopes[:, pixel] = spreads[:, pixel]
            yield slopes

    def label_matrix(self, targets: Tensor) -> Tensor:
        return targets


def _of_inputs(split: Split) -> Split:
    numbers = split.inputs.flatten(1)
    return replace(split, targets=numbers, clean_targets=numbers)
