"""A transform of one's own: the network times a factor, less what it was at the start."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ntkexp.data import Split
from ntkexp.options import option, positive
from ntkexp.transforms.base import Transform, Transformed


class Grown(nn.Module):
    """factor (f - f0)."""

    def __init__(self, network: nn.Module, factor: float) -> None:
        super().__init__()
        self.network, self.factor = network, factor
        self.start = copy.deepcopy(network).requires_grad_(False)

    def forward(self, inputs: Tensor) -> Tensor:
        grown: Tensor = self.factor * (self.network(inputs) - self.start(inputs))
        return grown


@dataclass
class FromZero(Transform):
    factor: float = option(3.0, positive())
    quick: bool = True

    def build(self, network: nn.Module, train: Split) -> Transformed:
        module = Grown(network, self.factor)
        with torch.no_grad():
            start = module.start(train.inputs)

        def on_training_set(inputs: Tensor, numbers: Tensor) -> Tensor:
            grown: Tensor = self.factor * (module.network(inputs) - start[numbers])
            return grown

        rate = 1 / self.factor**2
        return Transformed(module, rate, None, on_training_set if self.quick else None)
