"""Stochastic gradient descent with momentum.

ntkexp train +exp=mlp_mnist optim.lr=0.05 optim.momentum=0
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from ntkexp.optim.base import Optimiser
from ntkexp.optim.update import Number, WeightUpdate, add_, scale_
from ntkexp.options import BELOW_ONE, not_negative, option


@dataclass
class Sgd(Optimiser):
    """v <- momentum v + gradient + weight_decay w,  then  w <- w - lr v."""

    momentum: float = option(0.9, BELOW_ONE, "what is left of the last change in the next")
    weight_decay: float = option(0.0, not_negative(), "share of the weights in the gradient")

    def build(self, parameters: Iterable[Tensor]) -> WeightUpdate:
        return SgdUpdate(parameters, momentum=self.momentum, weight_decay=self.weight_decay)


class SgdUpdate(WeightUpdate):
    """v <- mu v + g + lambda w,  then  w <- w - eta v: what torch.optim.SGD does, bit for bit."""

    hyperparameters = ("momentum", "weight_decay")
    memory_of = ("velocity",)
    repeats = True
    momentum: Number
    weight_decay: Number

    @torch.no_grad()
    def take(self, gradients: list[Tensor]) -> None:
        if isinstance(self.weight_decay, Tensor) or self.weight_decay:
            add_(gradients, self.parameters, self.weight_decay)
        scale_(self.memory["velocity"], self.momentum)
        torch._foreach_add_(self.memory["velocity"], gradients)

    @torch.no_grad()
    def apply(self, lr: Number) -> None:
        add_(self.parameters, self.memory["velocity"], -lr)

    @torch.no_grad()
    def change(self, lr: Number) -> list[Tensor]:
        moved = [part.clone() for part in self.memory["velocity"]]
        scale_(moved, -lr)
        return moved

    @torch.no_grad()
    def step_norm(self, lr: float) -> Tensor:
        norms = torch.stack(torch._foreach_norm(self.memory["velocity"]))
        total: Tensor = torch.linalg.vector_norm(norms)
        return total * lr
