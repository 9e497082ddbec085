"""Plain nets, and nets that use a weight twice or train only some of them."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from tests.tangent.grid.parts import Net, Pool, images, linear, of, seq, vectors

PLAIN: dict[str, Net] = {
    "linear": (lambda: nn.Linear(4, 3), vectors()),
    "one output": (lambda: seq(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1)), vectors()),
    "one output, flat": (lambda: seq(nn.Linear(4, 1), nn.Flatten(0)), vectors()),
    "chain": (lambda: seq(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3)), vectors()),
    "no biases": (
        lambda: seq(nn.Linear(4, 5, bias=False), nn.GELU(), nn.Linear(5, 3, bias=False)),
        vectors(),
    ),
    "PReLU": (lambda: seq(nn.Linear(4, 4), nn.PReLU(4), nn.Linear(4, 2)), vectors()),
    "one PReLU": (lambda: seq(nn.Conv2d(4, 4, 1), nn.PReLU(), Pool()), images()),
    "bilinear": (
        of(lambda m, x: m.both(x, torch.tanh(x)), both=lambda: nn.Bilinear(4, 4, 3)),
        vectors(),
    ),
    "two paths": (
        of(lambda m, x: m.a(x) * torch.sigmoid(m.b(x)), a=linear(4, 3), b=linear(4, 3)),
        vectors(),
    ),
    "max pooling": (
        lambda: seq(nn.Conv2d(4, 4, 3), nn.MaxPool2d(3), nn.Flatten(), nn.Linear(4, 2)),
        images(),
    ),
    "adaptive pooling": (
        lambda: seq(nn.Conv2d(4, 4, 3), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(16, 2)),
        images(),
    ),
    "upsampling": (
        lambda: seq(nn.Upsample(scale_factor=2), nn.Conv2d(4, 2, 3), Pool()),
        images(size=3),
    ),
    "pixel shuffle": (lambda: seq(nn.PixelShuffle(2), nn.Conv2d(1, 2, 3), Pool()), images(size=3)),
    "data-dependent branch": (
        of(
            lambda m, x: torch.stack([(m.a if float(r.sum()) > 0 else m.b)(r) for r in x]),
            a=linear(4, 2),
            b=linear(4, 2),
        ),
        vectors(),
    ),
    "unused layer": (of(lambda m, x: m.a(x), a=linear(4, 2), b=linear(4, 2)), vectors()),
    "zero head": (of(lambda m, x: m.a(x) + 0 * m.b(x), a=linear(4, 2), b=linear(4, 2)), vectors()),
}


def tied() -> nn.Module:
    net = seq(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2))
    net[2].weight = net[0].weight  # type: ignore[index]
    return net


SHARED: dict[str, Net] = {
    "tied weights": (tied, vectors()),
    "tied transposed": (
        of(lambda m, x: functional.linear(torch.tanh(m.a(x)), m.a.weight.t()), a=linear(4, 3)),
        vectors(),
    ),
    "conv at two scales": (
        of(
            lambda m, x: m.c(x).mean((2, 3)) + m.c(functional.avg_pool2d(x, 2)).tanh().mean((2, 3)),
            c=lambda: nn.Conv2d(4, 3, 2),
        ),
        images(),
    ),
    "siamese": (
        of(
            lambda m, x: m.h(torch.tanh(m.a(x)) - torch.tanh(m.a(x.flip(1)))),
            a=linear(4, 3),
            h=linear(3, 2),
        ),
        vectors(),
    ),
}
