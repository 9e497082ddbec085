"""The objective that suits the data: squared error for numbers, binary for two classes, else
cross-entropy.

ntkexp train +exp=disk objective=usual
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from ntkexp.objectives.base import Loss, Objective
from ntkexp.objectives.binary import Binary
from ntkexp.objectives.cross_entropy import CrossEntropy
from ntkexp.objectives.squared_error import SquaredError


@dataclass
class Usual(Objective):
    """The objective that the data suggest."""

    measures: ClassVar = tuple(
        dict.fromkeys((*SquaredError.measures, *Binary.measures, *CrossEntropy.measures))
    )

    def build(self, targets: Tensor, classes: int | None) -> Loss:
        if classes is None:
            return SquaredError().build(targets, classes)
        return (Binary() if classes == 2 else CrossEntropy()).build(targets, classes)
