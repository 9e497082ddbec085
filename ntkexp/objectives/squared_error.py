"""Squared error on numbers, or on classes as unit vectors (as +1 and -1 for two of them).

ntkexp train +exp=mlp_mnist objective=squared_error
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from ntkexp.errors import UserError
from ntkexp.objectives import metrics
from ntkexp.objectives.base import Loss, Objective
from ntkexp.objectives.metrics import Metric, signs


@dataclass
class SquaredError(Objective):
    """l(f, y) = |f - y|^2 / 2, for numbers y, or for classes as e_y or +-1."""

    measures: ClassVar = ("r_squared", "mean_absolute_error")

    def build(self, targets: Tensor, classes: int | None) -> Loss:
        if targets.is_floating_point():
            return SquaredErrorLoss(targets.shape[1] if targets.dim() > 1 else 1)
        if classes is None:
            raise UserError(
                f"objective={self.name}: the data have numbers ({targets.dtype}), and whole ones "
                "are taken for classes; expected floats"
            )
        self.refuse_numbers(targets, classes)
        return SquaredErrorLoss(1 if classes == 2 else classes)


@dataclass(frozen=True)
class SquaredErrorLoss:
    """Half the squared distance; classes become the unit vectors, or signs for one output."""

    outputs: int

    def losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return self.losses_of(outputs - self._numbers(outputs, targets))

    def losses_of(self, residuals: Tensor) -> Tensor:
        return residuals.square().sum(-1) / 2

    def losses_and_slopes(self, outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        residuals = outputs.detach() - self._numbers(outputs, targets)
        return self.losses_of(residuals), residuals

    def correct(self, outputs: Tensor, targets: Tensor) -> Tensor:
        if targets.is_floating_point():
            return outputs.new_full((len(outputs),), torch.nan)
        if self.outputs == 1:
            return (outputs[:, 0] > 0) == (targets > 0)
        return outputs.argmax(1) == targets

    def sample(self, outputs: Tensor, generator: torch.Generator) -> Tensor:
        noise = torch.randn(outputs.shape, generator=generator, device=generator.device)
        return outputs.detach() + noise.to(outputs)

    def roots(self, outputs: Tensor) -> Iterator[Tensor]:
        for place in range(self.outputs):
            slopes = torch.zeros_like(outputs)
            slopes[:, place] = 1
            yield slopes

    def label_matrix(self, targets: Tensor) -> Tensor:
        if targets.is_floating_point():
            return targets if targets.dim() > 1 else targets[:, None]
        if self.outputs == 1:
            return signs(targets)[:, None]
        return functional.one_hot(targets, self.outputs)

    def metrics(self) -> dict[str, Metric]:
        return {
            "r_squared": lambda f, y: metrics.r_squared(f, self._numbers(f, y)),
            "mean_absolute_error": lambda f, y: metrics.mean_absolute_error(f, self._numbers(f, y)),
        }

    def _numbers(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """The targets in the shape of the outputs, whatever leads."""
        if targets.is_floating_point() and targets.dim() == outputs.dim():
            return targets
        return self.label_matrix(targets.flatten()).view(outputs.shape).to(outputs.dtype)
