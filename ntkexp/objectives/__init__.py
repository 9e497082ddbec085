"""What a network is trained to lower, by name."""

from __future__ import annotations

from torch import Tensor

from ntkexp.errors import UserError
from ntkexp.objectives.losses import Binary, CrossEntropy, Objective, SquaredError

__all__ = ["NAMES", "Binary", "CrossEntropy", "Objective", "SquaredError", "objective_for"]

NAMES = ("cross_entropy", "binary", "squared_error")


def objective_for(name: str, targets: Tensor, classes: int | None) -> Objective:
    """The objective of that name for targets such as these; refused where it has no meaning."""
    numbers = targets.is_floating_point()
    if name == "squared_error":
        width = targets.shape[1] if targets.dim() > 1 else 1
        return SquaredError(width if numbers else 1 if classes == 2 else classes or 1)
    if numbers or classes is None:
        raise UserError(f"objective={name}: takes classes, the data have numbers ({targets.dtype})")
    if name == "binary":
        if classes != 2:
            raise UserError(f"objective=binary: takes two classes, the data have {classes}")
        return Binary()
    return CrossEntropy(classes)
