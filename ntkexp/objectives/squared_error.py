"""Squared error on numbers, or on classes as unit vectors (as +1 and -1 for two of them).

ntkexp train +exp=mlp_mnist objective=squared_error
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ntkexp.objectives.base import Objective

if TYPE_CHECKING:
    from torch import Tensor

    from ntkexp.objectives.losses import Loss


@dataclass
class SquaredError(Objective):
    """|f - y|^2 / 2."""

    measures: ClassVar = ("r_squared", "mean_absolute_error")

    def build(self, targets: Tensor, classes: int | None) -> Loss:
        from ntkexp.objectives.losses import SquaredErrorLoss

        if targets.is_floating_point() or classes is None:
            return SquaredErrorLoss(targets.shape[1] if targets.dim() > 1 else 1)
        return SquaredErrorLoss(1 if classes == 2 else classes)
