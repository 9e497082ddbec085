"""Networks of one architecture as one: every parameter of all of them in one tensor.

Where a network has the weight W (a, b), M of them have a tensor (M, a, b), and the matrix products
of a step of all M networks are one batched product. On small networks most of a step is the cost
of starting operations, which M networks then share.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from ntkexp.objectives.base import Loss
from ntkexp.optim.update import Number, WeightUpdate, one_or_each
from ntkexp.transforms.alpha_scale import Head


class Stack:
    """The weights of M networks, and one optimiser for all.

    Each network's parameters, and what its optimiser remembers, become views into the stacked
    tensors. So a network always shows its present weights, and nothing is copied.
    """

    def __init__(
        self, models: Sequence[nn.Module], updates: Sequence[WeightUpdate], objective: Loss
    ) -> None:
        self.models, self.updates, self.objective = models, updates, objective
        self.parameters, _ = stack_module_state(list(models))
        self.skeleton = copy.deepcopy(models[0]).to("meta")
        for index, model in enumerate(models):
            for name, parameter in model.named_parameters():
                parameter.data = self.parameters[name].data[index]
        self.update = type(updates[0]).of_members(updates, list(self.parameters.values()))

    def release(self) -> None:
        """Give the networks tensors of their own again."""
        for model, update in zip(self.models, self.updates, strict=True):
            for parameter in model.parameters():
                parameter.data = parameter.data.clone()
            update.memory = {
                name: [part.clone() for part in parts] for name, parts in update.memory.items()
            }

    def compute(
        self, inputs: Tensor, targets: Tensor, head: Head | None = None
    ) -> tuple[Tensor, Tensor]:
        """Take in the gradient of every network on its own minibatch.

        `inputs` (M, b, ...) and `targets` (M, b, ...); returns the outputs (M, b, c) and the mean
        losses (M,), both of before the update. What is trained are the outputs as `head` has them.
        """
        outputs, loss = self.take_gradients(inputs, targets, head)
        for update in self.updates:
            update.updates = self.update.updates
        return outputs, loss

    def take_gradients(
        self, inputs: Tensor, targets: Tensor, head: Head | None = None
    ) -> tuple[Tensor, Tensor]:
        def forward(parameters: dict[str, Tensor], batch: Tensor) -> Tensor:
            outputs: Tensor = functional_call(self.skeleton, parameters, (batch,))
            return outputs

        outputs = vmap(forward)(self.parameters, inputs)
        outputs = outputs if head is None else head(outputs)
        losses = self.objective.losses(outputs.flatten(0, 1), targets.flatten(0, 1))
        loss = losses.view(outputs.shape[:2]).mean(1)
        # No network takes part in another's loss: the gradient of the sum has each one's own.
        gradients = torch.autograd.grad(loss.sum(), list(self.parameters.values()))
        self.update.take(list(gradients))
        return outputs.detach(), loss.detach()

    def apply(self, lrs: Sequence[float]) -> None:
        """Change the weights, every network's by its own rate."""
        self.update.apply(self.rates(lrs))

    def rates(self, lrs: Sequence[float]) -> Number:
        return one_or_each(lrs, next(iter(self.parameters.values())))
