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
from ntkexp.options import BELOW_ONE, not_negative, option, positive


@dataclass
class Adam(Optimiser):
    """m <- beta1 m + (1 - beta1) g,  v <- beta2 v + (1 - beta2) g^2,  and w moves by
    -lr m / (sqrt(v) + epsilon), both corrected for their start at zero."""

    beta1: float = option(0.9, BELOW_ONE, "decay of the mean of past gradients")
    beta2: float = option(0.999, BELOW_ONE, "decay of the mean of their squares")
    epsilon: float = option(1e-8, positive(), "added to the root of that mean")
    weight_decay: float = option(0.0, not_negative(), "share of the weights in the gradient")

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

    with m' = m / (1 - b1^t) and v' = v / (1 - b2^t). A weight decay is added to the gradient, as
    lambda w. All of it is one operation of PyTorch, what torch.optim.Adam does with fused=True, bit
    for bit. Runs that were kept before it was so differ in the last bits.
    """

    hyperparameters: tuple[str, ...] = ("beta1", "beta2", "epsilon", "weight_decay")
    alike: tuple[str, ...] = ("beta1", "beta2", "epsilon")
    memory_of = ("mean", "square")
    beta1: float
    beta2: float
    epsilon: float
    weight_decay: Number

    def take(self, gradients: list[Tensor]) -> None:
        self.gradients = [
            laid_out_as(w, g) for w, g in zip(self.parameters, gradients, strict=True)
        ]
        self.updates += 1

    @torch.no_grad()
    def apply(self, lr: Number) -> None:
        lists = (self.parameters, self.gradients, self.memory["mean"], self.memory["square"])
        if isinstance(lr, Tensor) or isinstance(self.weight_decay, Tensor):
            for m in range(len(self.parameters[0])):
                of_member = tuple([tensor[m] for tensor in tensors] for tensors in lists)
                self._fused(of_member, number_of(lr, m), number_of(self.weight_decay, m))
        else:
            self._fused(lists, lr, self.weight_decay)
        self.gradients = []

    def _fused(self, lists: tuple[list[Tensor], ...], lr: float, weight_decay: float) -> None:
        step = lists[0][0].new_full((), self.updates, dtype=torch.float32)
        weights, gradients, mean, square = lists
        torch._fused_adam_(
            weights,
            gradients,
            mean,
            square,
            [],
            [step] * len(weights),
            lr=lr,
            beta1=self.beta1,
            beta2=self.beta2,
            weight_decay=weight_decay,
            eps=self.epsilon,
            amsgrad=False,
            maximize=False,
        )

    @torch.no_grad()
    def change(self, lr: Number) -> list[Tensor]:
        gradients = [gradient.clone() for gradient in self.coming()]
        add_(gradients, self.parameters, self.weight_decay)
        mean = torch._foreach_lerp(self.memory["mean"], gradients, 1 - self.beta1)
        scales = list(torch._foreach_mul(self.memory["square"], self.beta2))
        torch._foreach_addcmul_(scales, gradients, gradients, 1 - self.beta2)
        torch._foreach_sqrt_(scales)
        torch._foreach_div_(scales, (1 - self.beta2**self.updates) ** 0.5)
        torch._foreach_add_(scales, self.epsilon)
        rate = lr / (1 - self.beta1**self.updates)
        return [
            (along(-rate, m) if isinstance(rate, Tensor) else -rate) * m / scale
            for m, scale in zip(mean, scales, strict=True)
        ]


def laid_out_as(parameter: Tensor, gradient: Tensor) -> Tensor:
    """The gradient, laid out in memory as the parameter is: the fused operation needs that."""
    if gradient.stride() == parameter.stride():
        return gradient
    return torch.empty_like(parameter).copy_(gradient)


def number_of(numbers: Number, member: int) -> float:
    return float(numbers[member]) if isinstance(numbers, Tensor) else numbers
