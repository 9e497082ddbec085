"""Networks of one architecture as one: every parameter of all of them in one tensor.

Where a network has the weight W (a, b), M of them have a tensor (M, a, b), and the matrix products
of a step of all M networks are one batched product. On small networks most of a step is the cost
of asking for it, which M networks then share.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from ntkexp.models.objective import losses
from ntkexp.training.sgd import SGD


class Stack:
    """The weights and velocities of M networks, and their SGD.

    The networks stay themselves: their parameters become views into the stacked ones, so that
    whoever holds a network sees its weights as they are now, and nothing is copied.
    """

    def __init__(self, models: Sequence[nn.Module], sgds: Sequence[SGD]) -> None:
        self.count = len(models)
        self.parameters, _ = stack_module_state(list(models))
        self.velocity = [
            torch.stack(parts) for parts in zip(*(sgd.velocity for sgd in sgds), strict=True)
        ]
        self.skeleton = copy.deepcopy(models[0]).to("meta")
        self.momentum = self._per_member([sgd.momentum for sgd in sgds])
        self.weight_decay = self._per_member([sgd.weight_decay for sgd in sgds])
        for index, (model, sgd) in enumerate(zip(models, sgds, strict=True)):
            for name, parameter in model.named_parameters():
                parameter.data = self.parameters[name].data[index]
            sgd.velocity = [velocity[index] for velocity in self.velocity]

    def release(self, models: Sequence[nn.Module], sgds: Sequence[SGD]) -> None:
        """Give the networks tensors of their own again."""
        for model, sgd in zip(models, sgds, strict=True):
            for parameter in model.parameters():
                parameter.data = parameter.data.clone()
            sgd.velocity = [velocity.clone() for velocity in sgd.velocity]

    def accelerate(self, inputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """v <- mu v + g + lambda w for every network on its own minibatch.

        `inputs` (M, b, ...) and `targets` (M, b); returns the outputs (M, b, c) and the mean
        losses (M,), both of before the step.
        """

        def forward(parameters: dict[str, Tensor], batch: Tensor) -> Tensor:
            outputs: Tensor = functional_call(self.skeleton, parameters, (batch,))
            return outputs

        outputs = vmap(forward)(self.parameters, inputs)
        loss = losses(outputs.flatten(0, 1), targets.flatten()).view(targets.shape).mean(1)
        # No network takes part in another's loss: the gradient of the sum has each one's own.
        gradients = torch.autograd.grad(loss.sum(), list(self.parameters.values()))
        self.slow_down()
        torch._foreach_add_(self.velocity, gradients)
        return outputs.detach(), loss.detach()

    @torch.no_grad()
    def slow_down(self) -> None:
        """v <- mu v + lambda w: what of the new velocity does not depend on the minibatch."""
        for velocity, weights in zip(self.velocity, self.parameters.values(), strict=True):
            velocity.mul_(_shaped(self.momentum, velocity))
            if isinstance(self.weight_decay, Tensor) or self.weight_decay:
                velocity.add_(weights * _shaped(self.weight_decay, weights))

    @torch.no_grad()
    def move(self, lrs: Sequence[float]) -> None:
        """w <- w - eta v, every network with its own eta."""
        lr = self._per_member(lrs)
        if isinstance(lr, Tensor):
            for weights, velocity in zip(self.parameters.values(), self.velocity, strict=True):
                weights.addcmul_(velocity, _shaped(-lr, velocity))
        else:
            torch._foreach_add_(list(self.parameters.values()), self.velocity, alpha=-lr)

    def _per_member(self, values: Sequence[float]) -> float | Tensor:
        """One number where all agree, which is quicker; else a tensor (M,)."""
        if len(set(values)) == 1:
            return values[0]
        like = next(iter(self.parameters.values()))
        return torch.tensor(values, dtype=like.dtype, device=like.device)


def _shaped(values: float | Tensor, like: Tensor) -> Any:
    """(M,) made to broadcast along the first dimension of `like`."""
    if isinstance(values, Tensor):
        return values.view(-1, *[1] * (like.dim() - 1))
    return values
