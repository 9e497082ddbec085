"""Cross-entropy over classes, one output each.

ntkexp train +exp=mlp_mnist objective=cross_entropy
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ntkexp.objectives.base import Objective

if TYPE_CHECKING:
    from torch import Tensor

    from ntkexp.objectives.losses import Loss


@dataclass
class CrossEntropy(Objective):
    """-log softmax(f)_y."""

    measures: ClassVar = ("mean_margin", "least_margin")

    def build(self, targets: Tensor, classes: int | None) -> Loss:
        from ntkexp.objectives.losses import CrossEntropyLoss

        return CrossEntropyLoss(self.refuse_numbers(targets, classes))
