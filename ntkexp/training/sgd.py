"""Stochastic gradient descent with momentum, in two halves."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor


class SGD:
    """v <- mu v + g + lambda w,  then  w <- w - eta v: what torch.optim.SGD does, bit for bit.

    The halves are apart so that a probe can stand between them: there the parameter change
    dw = -eta v of this iteration is known while the network is still at w.
    """

    def __init__(
        self, parameters: Iterable[Tensor], *, momentum: float, weight_decay: float
    ) -> None:
        self.parameters = [parameter for parameter in parameters if parameter.requires_grad]
        self.momentum, self.weight_decay = momentum, weight_decay
        self.velocity = [torch.zeros_like(parameter) for parameter in self.parameters]

    @torch.no_grad()
    def accelerate(self) -> None:
        """Take the gradients into the velocity, and forget them."""
        gradients = [w.grad for w in self.parameters if w.grad is not None]
        if len(gradients) < len(self.parameters):
            raise ValueError("a trainable parameter takes no part in the loss")
        if self.weight_decay:
            torch._foreach_add_(gradients, self.parameters, alpha=self.weight_decay)
        torch._foreach_mul_(self.velocity, self.momentum)
        torch._foreach_add_(self.velocity, gradients)
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def move(self, lr: float) -> None:
        torch._foreach_add_(self.parameters, self.velocity, alpha=-lr)

    @torch.no_grad()
    def step_norm(self, lr: float) -> Tensor:
        """|dw|_2 of the coming move."""
        norms = torch.stack(torch._foreach_norm(self.velocity))
        total: Tensor = torch.linalg.vector_norm(norms)
        return total * lr

    def state(self) -> list[Tensor]:
        return [velocity.clone() for velocity in self.velocity]

    @torch.no_grad()
    def restore(self, state: list[Tensor]) -> None:
        torch._foreach_copy_(self.velocity, state)
