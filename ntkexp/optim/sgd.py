"""Stochastic gradient descent with momentum.

ntkexp train +exp=mlp_mnist optim.lr=0.05 optim.momentum=0
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ntkexp.optim.base import Optimiser
from ntkexp.options import Rule, not_negative, option

if TYPE_CHECKING:
    from torch import Tensor

    from ntkexp.optim.update import WeightUpdate


@dataclass
class Sgd(Optimiser):
    """v <- momentum v + gradient + weight_decay w,  then  w <- w - lr v."""

    momentum: float = option(
        0.9, Rule(lambda number: 0 <= number < 1, "a number from 0 to below 1")
    )
    weight_decay: float = option(0.0, not_negative())

    def build(self, parameters: Iterable[Tensor]) -> WeightUpdate:
        from ntkexp.optim.updates.sgd import SgdUpdate

        return SgdUpdate(parameters, momentum=self.momentum, weight_decay=self.weight_decay)
