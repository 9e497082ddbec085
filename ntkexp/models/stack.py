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
from torch.func import stack_module_state, vmap

from ntkexp.tangent.function import called_with


class StackedNetworks:
    """M networks, whose parameters and buffers become views into the stacked tensors.

    So a network always shows its present weights and running statistics, and nothing is copied.
    """

    def __init__(self, models: Sequence[nn.Module]) -> None:
        self.models = models
        self.parameters, self.buffers = stack_module_state(list(models))
        self.skeleton = without_numbers(models[0])
        for index, model in enumerate(models):
            for name, parameter in model.named_parameters():
                parameter.data = self.parameters[name].data[index]
            for name, buffer in model.named_buffers():
                buffer.data = self.buffers[name][index]

    def __call__(self, inputs: Tensor) -> Tensor:
        """(M, b, c): the outputs of every network on its own inputs (M, b, ...)."""
        outputs: Tensor = vmap(self.one)(self.parameters, self.buffers, inputs)
        return outputs

    def one(
        self, parameters: dict[str, Tensor], buffers: dict[str, Tensor], *inputs: Tensor
    ) -> Tensor:
        """The outputs of the network that has these parameters and buffers."""
        outputs: Tensor = called_with(self.skeleton, {**parameters, **buffers}, inputs)
        return outputs

    def release(self) -> None:
        """Give the networks tensors of their own again."""
        for model in self.models:
            for tensor in (*model.parameters(), *model.buffers()):
                tensor.data = tensor.data.clone()


def without_numbers(model: nn.Module) -> nn.Module:
    """A copy on the device "meta". Unlike `.to("meta")` it leaves a weight of two layers one."""
    copies: dict[int, Tensor] = {
        id(tensor): torch.empty(tensor.shape, dtype=tensor.dtype, device="meta")
        for tensor in (*model.parameters(), *model.buffers())
    }
    for weight in model.parameters():
        copies[id(weight)] = nn.Parameter(copies[id(weight)], weight.requires_grad)
    return copy.deepcopy(model, copies)
