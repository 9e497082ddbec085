"""Adam.

ntkexp train +exp=mlp_mnist optim=adam optim.lr=0.001
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ntkexp.optim.base import Optimiser
from ntkexp.options import Rule, not_negative, option, positive

if TYPE_CHECKING:
    from torch import Tensor

    from ntkexp.optim.update import WeightUpdate

BELOW_ONE = Rule(lambda number: 0 <= number < 1, "a number from 0 to below 1")


@dataclass
class Adam(Optimiser):
    """m <- beta1 m + (1 - beta1) g,  v <- beta2 v + (1 - beta2) g^2,  and w moves by
    -lr m / (sqrt(v) + epsilon), both corrected for their start at zero."""

    beta1: float = option(0.9, BELOW_ONE)
    beta2: float = option(0.999, BELOW_ONE)
    epsilon: float = option(1e-8, positive())
    weight_decay: float = option(0.0, not_negative())

    def build(self, parameters: Iterable[Tensor]) -> WeightUpdate:
        from ntkexp.optim.updates.adam import AdamUpdate

        return AdamUpdate(
            parameters,
            beta1=self.beta1,
            beta2=self.beta2,
            epsilon=self.epsilon,
            weight_decay=self.weight_decay,
        )
