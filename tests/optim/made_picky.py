"""An optimiser that trains linear layers alone, knows its objective, and may give up."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from ntkexp.errors import Diverged, UserError
from ntkexp.objectives.base import Loss
from ntkexp.optim import Optimiser
from ntkexp.optim.sgd import SgdUpdate
from ntkexp.options import count, option


class PickyUpdate(SgdUpdate):
    def __init__(self, network: nn.Module, objective: Loss, last: int) -> None:
        super().__init__(network.parameters(), momentum=0.0, weight_decay=0.0)
        self.outputs, self.last = objective.outputs, last

    def take(self, gradients: list[Tensor]) -> None:
        if self.updates == self.last:
            raise Diverged(self.updates, why="no Cholesky factor")
        super().take([gradient / self.outputs for gradient in gradients])
        self.updates += 1


@dataclass
class Picky(Optimiser):
    last: int = option(1000, count("updates"))

    def refuse(self, network: nn.Module) -> None:
        for name, layer in network.named_modules():
            if isinstance(layer, nn.Conv2d):
                raise UserError(f"optim=picky: {name} is a convolution; expected linear layers")

    def build_for(self, network: nn.Module, objective: Loss) -> PickyUpdate:
        return PickyUpdate(network, objective, self.last)
