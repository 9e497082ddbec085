"""Binary cross-entropy on the one output of a network that tells two classes apart.

ntkexp train +exp=disk objective=binary
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ntkexp.errors import UserError
from ntkexp.objectives.base import Objective

if TYPE_CHECKING:
    from torch import Tensor

    from ntkexp.objectives.losses import Loss


@dataclass
class Binary(Objective):
    """log(1 + exp(-s f)) with s = 2 y - 1."""

    measures: ClassVar = ("area_under_curve", "mean_margin", "least_margin")

    def build(self, targets: Tensor, classes: int | None) -> Loss:
        from ntkexp.objectives.losses import BinaryLoss

        if (found := self.refuse_numbers(targets, classes)) != 2:
            raise UserError(f"objective=binary: takes two classes, the data have {found}")
        return BinaryLoss()
