"""Subclasses, parametrised weights, hooks, checkpoints, operations in place."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import parametrizations, parametrize
from torch.utils.checkpoint import checkpoint

from tests.tangent.grid.parts import Net, Of, Pool, images, linear, of, seq, vectors, weight


class LowRank(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Parameter(torch.randn(2, 4)), nn.Parameter(torch.randn(4, 2))

    def forward(self, weight: Tensor) -> Tensor:
        return weight + self.b @ self.a


class Symmetric(nn.Module):
    def forward(self, weight: Tensor) -> Tensor:
        return weight.triu() + weight.triu(1).t()


def lora(freeze: bool) -> nn.Module:
    layer = nn.Linear(4, 4)
    parametrize.register_parametrization(layer, "weight", LowRank())
    layer.parametrizations.weight.original.requires_grad_(not freeze)  # type: ignore[union-attr]
    return seq(layer, nn.Tanh(), nn.Linear(4, 2))


def symmetric() -> nn.Module:
    layer = nn.Linear(4, 4)
    parametrize.register_parametrization(layer, "weight", Symmetric())
    return seq(layer, nn.Tanh(), nn.Linear(4, 2))


class ScaledBias(nn.Linear):
    """The weight enters as it is, the bias through another operation."""

    def forward(self, x: Tensor) -> Tensor:
        return functional.linear(x, self.weight, 0.1 * self.bias)


def recomputed(m: Of, x: Tensor) -> Tensor:
    hidden = checkpoint(m.body, x, use_reentrant=False)  # type: ignore[arg-type]
    return m.head(hidden)  # type: ignore[operator, no-any-return]


UNUSUAL: dict[str, Net] = {
    "weight norm": (
        lambda: seq(parametrizations.weight_norm(nn.Linear(4, 4)), nn.Tanh(), nn.Linear(4, 2)),
        vectors(),
    ),
    "weight norm of a convolution": (
        lambda: seq(parametrizations.weight_norm(nn.Conv2d(4, 3, 3)), Pool()),
        images(),
    ),
    "spectral norm": (
        lambda: seq(parametrizations.spectral_norm(nn.Linear(4, 4)), nn.Tanh(), nn.Linear(4, 2)),
        vectors(),
    ),
    "orthogonal": (
        lambda: seq(parametrizations.orthogonal(nn.Linear(4, 4)), nn.Tanh(), nn.Linear(4, 2)),
        vectors(),
    ),
    "low rank": (lambda: lora(False), vectors()),
    "low rank on frozen": (lambda: lora(True), vectors()),
    "symmetric": (symmetric, vectors()),
    "scaled bias": (lambda: seq(ScaledBias(4, 4), nn.Tanh(), ScaledBias(4, 2)), vectors()),
    "checkpointing": (
        of(
            recomputed,
            body=lambda: seq(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4), nn.ReLU()),
            head=linear(4, 2),
        ),
        vectors(),
    ),
    "sums in place": (
        of(lambda m, x: m.b(torch.tanh(m.a(x).add_(x))).mul_(2), a=linear(4, 4), b=linear(4, 2)),
        vectors(),
    ),
    "parameter lists": (
        of(
            lambda m, x: sum((w * x).sum(1, keepdim=True) * (i + 1) for i, w in enumerate(m.ws)),
            ws=lambda: nn.ParameterList([torch.randn(4), torch.randn(4)]),
        ),
        vectors(),
    ),
    "matrix exponential": (
        of(
            lambda m, x: m.h(x @ torch.linalg.matrix_exp(m.w)),
            w=lambda: torch.randn(4, 4) / 2,
            h=linear(4, 2),
        ),
        vectors(),
    ),
    "fourier": (
        of(lambda m, x: m.h(torch.fft.rfft(x * m.w).abs()), w=weight(4), h=linear(3, 2)),
        vectors(),
    ),
    "squeeze and excite": (
        of(
            lambda m, x: (m.c(x) * torch.sigmoid(m.e(x.mean((2, 3), keepdim=True)))).mean((2, 3)),
            c=lambda: nn.Conv2d(4, 4, 3, padding=1, groups=4),
            e=lambda: nn.Conv2d(4, 4, 1),
        ),
        images(),
    ),
}
