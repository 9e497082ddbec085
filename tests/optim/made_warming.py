"""An optimiser that halves its gradients and warms up by itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from torch import Tensor

from ntkexp.optim.sgd import Sgd, SgdUpdate


class WarmingUpdate(SgdUpdate):
    def take(self, gradients: list[Tensor]) -> None:
        super().take([gradient / 2 for gradient in gradients])
        self.updates += 1

    def rate(self, planned: float) -> float:
        return planned * min(1.0, (self.updates + 1) / 8)


@dataclass
class Warming(Sgd):
    def build(self, parameters: Iterable[Tensor]) -> WarmingUpdate:
        return WarmingUpdate(parameters, momentum=self.momentum, weight_decay=self.weight_decay)
