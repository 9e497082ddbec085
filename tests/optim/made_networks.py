"""Networks and optimisers that know nothing of ntkexp, to be chosen by their names."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn


def wide(inputs: int, width: int = 5, outputs: int = 1, norm: bool = False) -> nn.Module:
    between = nn.BatchNorm1d(width) if norm else nn.Identity()
    return nn.Sequential(nn.Linear(inputs, width), between, nn.Tanh(), nn.Linear(width, outputs))


def frozen() -> nn.Module:
    return nn.Linear(2, 1).requires_grad_(False)


def by_widths(inputs: int, widths: dict[int, int]) -> nn.Module:
    """The width of each hidden layer, by its number."""
    sizes = [inputs, *(widths[layer] for layer in sorted(widths)), 1]
    return nn.Sequential(*(nn.Linear(*pair) for pair in pairwise(sizes)))


def turned(inputs: int = 2) -> nn.Module:
    """Reads its weights into NumPy while it is built."""
    layer = nn.Linear(inputs, 1)
    layer.weight.data.copy_(torch.from_numpy(-layer.weight.detach().numpy()))
    return layer


class Picky(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        assert x.shape[1] == self.in_features, "of another length"
        return super().forward(x)


def number() -> int:
    return 3


class Mixing(nn.Module):
    """Every output depends on the whole batch."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 1)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.linear(x) + self.linear(x.mean(0))
        return out


class Halving(torch.optim.lr_scheduler.LRScheduler):
    """A scheduler of one's own."""

    def get_lr(self) -> list[float]:
        return [rate * 0.5**self.last_epoch for rate in self.base_lrs]


ready = nn.Linear(2, 1)
