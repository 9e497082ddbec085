"""What the nets of the grid are made of: name -> (build, inputs)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

Net = tuple[Callable[[], nn.Module], Callable[[], Tensor]]


class Of(nn.Module):
    """`compute(self, x)` with the given modules and parameters."""

    def __init__(self, compute: Callable[..., Tensor], **parts: nn.Module | Tensor) -> None:
        super().__init__()
        for name, part in parts.items():
            setattr(self, name, part if isinstance(part, nn.Module) else nn.Parameter(part))
        self.compute = compute

    def forward(self, x: Tensor) -> Tensor:
        return self.compute(self, x)


def seq(*layers: nn.Module) -> nn.Module:
    return nn.Sequential(*layers)


def of(
    compute: Callable[..., Tensor], **parts: Callable[[], nn.Module | Tensor]
) -> Callable[[], nn.Module]:
    """The parts are built when the net is, so that every test has its own."""
    return lambda: Of(compute, **{name: build() for name, build in parts.items()})


def vectors(n: int = 5, features: int = 4) -> Callable[[], Tensor]:
    return lambda: torch.randn(n, features)


def images(n: int = 4, channels: int = 4, size: int = 5, axes: int = 2) -> Callable[[], Tensor]:
    return lambda: torch.randn(n, channels, *[size] * axes)


def sequences(n: int = 4, length: int = 3, features: int = 4) -> Callable[[], Tensor]:
    return lambda: torch.randn(n, length, features)


def tokens(n: int = 4, length: int = 3, words: int = 6) -> Callable[[], Tensor]:
    return lambda: torch.randint(0, words, (n, length))


def linear(inputs: int, outputs: int) -> Callable[[], nn.Module]:
    return lambda: nn.Linear(inputs, outputs)


def table(words: int, features: int) -> Callable[[], nn.Module]:
    return lambda: nn.Embedding(words, features)


def weight(*shape: int) -> Callable[[], Tensor]:
    return lambda: torch.randn(shape)


class Pool(nn.Module):
    """(n, C, ...) -> (n, C), smooth."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(x).flatten(2).mean(2)
