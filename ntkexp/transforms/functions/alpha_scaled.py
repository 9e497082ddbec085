"""f^alpha = f_0 + alpha (f - f_0) as a module, and on the training set, where f_0 is known.

Formulas: ntkexp/transforms/alpha_scale.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor, nn

from ntkexp.transforms.functions.of_network import OfNetwork

EXAMPLES_AT_ONCE = 500


def scaled(outputs: Tensor, start: Tensor, alpha: float, *, keeps_start: bool) -> Tensor:
    """f_0 + alpha (f - f_0), or without the first f_0; in this order, f - f_0 loses no digit."""
    change = outputs - start
    return torch.add(start, change, alpha=alpha) if keeps_start else alpha * change


class AlphaScaled(OfNetwork):
    """The alpha-scaled function of a network; f_0 is computed anew by the frozen copy.

    For alpha = 1 with f_0 kept it is the network, bit for bit.
    """

    def __init__(self, network: nn.Module, alpha: float, *, keeps_start: bool) -> None:
        super().__init__(network)
        self.alpha, self.keeps_start = alpha, keeps_start
        self.plain = alpha == 1 and keeps_start

    def forward(self, inputs: Tensor) -> Tensor:
        outputs: Tensor = self.network(inputs)
        if self.plain:
            return outputs
        with torch.no_grad():
            start = self.start(inputs)
        return scaled(outputs, start, self.alpha, keeps_start=self.keeps_start)


class OnTrainingSet:
    """The same for training examples of given numbers: f_0 is computed once for all of them.

    At the first update, not before: by then the process has the threads of the run, on whose
    number the last digits depend.
    """

    def __init__(self, module: AlphaScaled, inputs: Tensor) -> None:
        self.module, self._inputs = module, inputs

    @cached_property
    def start(self) -> Tensor:
        """(n, c): f_0 of every training example."""
        with torch.no_grad():
            parts = torch.split(self._inputs, EXAMPLES_AT_ONCE)
            return torch.cat([self.module.start(part) for part in parts])

    def __call__(self, inputs: Tensor, numbers: Tensor) -> Tensor:
        module = self.module
        outputs: Tensor = module.network(inputs)
        if module.plain:
            return outputs
        start = self.start.index_select(0, numbers)
        return scaled(outputs, start, module.alpha, keeps_start=module.keeps_start)


@dataclass(frozen=True)
class Head:
    """The outputs f (M, b, c) of M networks on their minibatches to f^alpha, alpha (M, 1, 1)."""

    start: Tensor  # (M, b, c)
    alpha: Tensor
    kept: Tensor  # (M, 1, 1): 1 where f_0 is kept, else 0

    def __call__(self, outputs: Tensor) -> Tensor:
        return self.kept * self.start + self.alpha * (outputs - self.start)


class Heads:
    """The heads of M networks that train in step."""

    def __init__(self, sets: Sequence[OnTrainingSet]) -> None:
        self._start = torch.stack([one.start for one in sets])
        like = self._start

        def column(values: list[float]) -> Tensor:
            return torch.tensor(values, dtype=like.dtype, device=like.device).view(-1, 1, 1)

        self._alpha = column([one.module.alpha for one in sets])
        self._kept = column([float(one.module.keeps_start) for one in sets])

    def at(self, numbers: Tensor) -> Head:
        """For the training examples `numbers` (M, b)."""
        places = numbers.unsqueeze(2).expand(*numbers.shape, self._start.shape[2])
        return Head(self._start.gather(1, places), self._alpha, self._kept)
