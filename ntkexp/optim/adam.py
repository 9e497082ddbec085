"""Adam (Kingma and Ba, "Adam: a method for stochastic optimization", Algorithm 1).

ntkexp train +exp=mlp_mnist optim=adam optim.lr=0.001
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from ntkexp.optim.base import Optimiser
from ntkexp.optim.update import Number, WeightUpdate, add_, along
from ntkexp.options import Rule, not_negative, option, positive

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
        return AdamUpdate(
            parameters,
            beta1=self.beta1,
            beta2=self.beta2,
            epsilon=self.epsilon,
            weight_decay=self.weight_decay,
        )


class AdamUpdate(WeightUpdate):
    """m <- b1 m + (1 - b1) g,  v <- b2 v + (1 - b2) g^2,  w <- w - eta m' / (sqrt(v') + eps)

    with m' = m / (1 - b1^t) and v' = v / (1 - b2^t): what torch.optim.Adam does, bit for bit. A
    weight decay is added to the gradient, as lambda w.
    """

    hyperparameters = ("beta1", "beta2", "epsilon", "weight_decay")
    alike = ("beta1", "beta2", "epsilon")
    memory_of = ("mean", "square")
    beta1: float
    beta2: float
    epsilon: float
    weight_decay: Number

    @torch.no_grad()
    def take(self, gradients: list[Tensor]) -> None:
        if isinstance(self.weight_decay, Tensor) or self.weight_decay:
            add_(gradients, self.parameters, self.weight_decay)
        torch._foreach_lerp_(self.memory["mean"], gradients, 1 - self.beta1)
        torch._foreach_mul_(self.memory["square"], self.beta2)
        torch._foreach_addcmul_(self.memory["square"], gradients, gradients, 1 - self.beta2)
        self.updates += 1

    @torch.no_grad()
    def apply(self, lr: Number) -> None:
        rate, scales = self._rate(lr), self._scales()
        if isinstance(rate, Tensor):
            for w, mean, scale in zip(self.parameters, self.memory["mean"], scales, strict=True):
                w.sub_(along(rate, w) * mean / scale)
        else:
            torch._foreach_addcdiv_(self.parameters, self.memory["mean"], scales, -rate)

    @torch.no_grad()
    def change(self, lr: Number) -> list[Tensor]:
        rate = self._rate(lr)
        return [
            (along(-rate, mean) if isinstance(rate, Tensor) else -rate) * mean / scale
            for mean, scale in zip(self.memory["mean"], self._scales(), strict=True)
        ]

    def _rate(self, lr: Number) -> Number:
        return lr / (1 - self.beta1**self.updates)

    def _scales(self) -> list[Tensor]:
        """sqrt(v') + eps."""
        scales = list(torch._foreach_sqrt(self.memory["square"]))
        torch._foreach_div_(scales, (1 - self.beta2**self.updates) ** 0.5)
        torch._foreach_add_(scales, self.epsilon)
        return scales
