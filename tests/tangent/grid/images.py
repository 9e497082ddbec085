"""Convolutions in one to three dimensions, and norms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import torch
from torch import Tensor, nn

from tests.tangent.grid.parts import Net, Pool, images, linear, of, seq, vectors

CONV = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}
BACK = {1: nn.ConvTranspose1d, 2: nn.ConvTranspose2d, 3: nn.ConvTranspose3d}


def convolutions() -> Iterator[tuple[str, Net]]:
    shapes = {
        "plain": {"kernel_size": 3},
        "strided": {"kernel_size": 3, "stride": 2, "padding": 1},
        "dilated": {"kernel_size": 2, "dilation": 2},
        "grouped": {"kernel_size": 3, "padding": 1, "groups": 2},
        "depthwise": {"kernel_size": 3, "padding": 1, "groups": 4},
        "no bias": {"kernel_size": 1, "bias": False},
    }
    for axes, (name, options) in product((1, 2, 3), shapes.items()):
        yield (
            f"conv{axes}d {name}",
            (
                lambda axes=axes, options=options: seq(  # type: ignore[misc]
                    CONV[axes](4, 4, **options), Pool(), nn.Linear(4, 2)
                ),
                images(size=5 if axes < 3 else 4, n=4 if axes < 3 else 3, axes=axes),
            ),
        )
    for name in ("strided", "no bias"):
        yield (
            f"transposed2d {name}",
            (
                lambda name=name: seq(  # type: ignore[misc]
                    nn.ConvTranspose2d(4, 4, **shapes[name]), Pool(), nn.Linear(4, 2)
                ),
                images(n=3, size=3),
            ),
        )
    for mode in ("reflect", "replicate", "circular"):
        yield (
            f"padding {mode}",
            (
                lambda mode=mode: seq(  # type: ignore[misc]
                    nn.Conv2d(4, 4, 3, padding=1, padding_mode=mode), Pool(), nn.Linear(4, 2)
                ),
                images(),
            ),
        )


def with_norm(norm: Callable[[], nn.Module]) -> Callable[[], nn.Module]:
    def build() -> nn.Module:
        layer = norm()
        for parameter in layer.parameters():
            nn.init.normal_(parameter)
        if isinstance(getattr(layer, "running_mean", None), Tensor):
            layer.running_mean.normal_()  # type: ignore[operator, union-attr]
            layer.running_var.uniform_(0.5, 2)  # type: ignore[operator, union-attr]
        return seq(nn.Conv2d(4, 4, 1), layer, Pool(), nn.Linear(4, 2))

    return build


NORMS: dict[str, Net] = {
    "batch norm": (with_norm(lambda: nn.BatchNorm2d(4, eps=0.1)), images()),
    "group norm": (with_norm(lambda: nn.GroupNorm(2, 4)), images()),
    "instance norm": (with_norm(lambda: nn.InstanceNorm2d(4, affine=True)), images()),
    "tracked instance norm": (
        with_norm(lambda: nn.InstanceNorm2d(4, affine=True, track_running_stats=True)),
        images(),
    ),
    "layer norm": (with_norm(lambda: nn.LayerNorm([4, 5, 5])), images()),
    "local response norm": (with_norm(lambda: nn.LocalResponseNorm(2)), images()),
    "RMS norm": (with_norm(lambda: nn.RMSNorm([5])), images()),
    "RMS norm over all": (lambda: seq(nn.RMSNorm(4), nn.Linear(4, 2)), vectors()),
    "batch norm of vectors": (lambda: seq(nn.Linear(4, 4), nn.BatchNorm1d(4)), vectors()),
    "group norm of vectors": (
        lambda: seq(nn.Linear(4, 6), nn.GroupNorm(2, 6), nn.Tanh(), nn.Linear(6, 2)),
        vectors(),
    ),
    "norm twice": (
        of(
            lambda m, x: m.head(m.norm(torch.tanh(m.norm(x)))),
            norm=lambda: nn.LayerNorm(4),
            head=linear(4, 2),
        ),
        vectors(),
    ),
}
