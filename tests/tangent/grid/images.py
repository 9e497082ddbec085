"""Transposed convolutions, and norms; test_single_layers.py draws the other convolutions."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from tests.tangent.grid.parts import Net, Pool, images, linear, of, seq, vectors

CONV = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}
BACK = {1: nn.ConvTranspose1d, 2: nn.ConvTranspose2d, 3: nn.ConvTranspose3d}


TRANSPOSED: dict[str, Net] = {
    f"transposed2d {name}": (
        lambda options=options: seq(  # type: ignore[misc]
            nn.ConvTranspose2d(4, 4, **options), Pool(), nn.Linear(4, 2)
        ),
        images(n=3, size=3),
    )
    for name, options in {
        "strided": {"kernel_size": 3, "stride": 2, "padding": 1},
        "no bias": {"kernel_size": 1, "bias": False},
    }.items()
}


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
    "instance norm": (with_norm(lambda: nn.InstanceNorm2d(4, affine=True)), images()),
    "tracked instance norm": (
        with_norm(lambda: nn.InstanceNorm2d(4, affine=True, track_running_stats=True)),
        images(),
    ),
    "local response norm": (with_norm(lambda: nn.LocalResponseNorm(2)), images()),
    "RMS norm": (with_norm(lambda: nn.RMSNorm([5])), images()),
    "RMS norm over all": (lambda: seq(nn.RMSNorm(4), nn.Linear(4, 2)), vectors()),
    "norm twice": (
        of(
            lambda m, x: m.head(m.norm(torch.tanh(m.norm(x)))),
            norm=lambda: nn.LayerNorm(4),
            head=linear(4, 2),
        ),
        vectors(),
    ),
}
