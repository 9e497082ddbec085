"""What the layers of a network do on a batch, and how alike two such states are.

Formulas: ntkexp/probes/linearity.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn


@torch.no_grad()
def seen(network: nn.Module, inputs: Tensor) -> dict[str, Tensor]:
    """`relus`: whether each is open, all in one; `representation`: its kernel (n, n).

    Empty where the network has no such modules.
    """
    opened: list[Tensor] = []
    representations: list[Tensor] = []

    def on_relu(module: nn.Module, given: Any, outputs: Tensor) -> None:
        opened.append((outputs > 0).flatten())

    def on_linear(module: nn.Module, given: tuple[Tensor, ...]) -> None:
        representations[:] = [given[0].flatten(1)]

    with ExitStack() as stack:
        for module in network.modules():
            if isinstance(module, nn.ReLU):
                stack.callback(module.register_forward_hook(on_relu).remove)
            elif isinstance(module, nn.Linear):
                stack.callback(module.register_forward_pre_hook(on_linear).remove)
        network(inputs)
    none = inputs.new_empty(0)
    phi = representations[0].double() if representations else none[:, None]
    return {"relus": torch.cat(opened) if opened else none, "representation": phi @ phi.T}


def compared(now: Mapping[str, Tensor], start: Mapping[str, Tensor]) -> dict[str, float]:
    """The share of equal ReLUs, and the alignments of both kernels."""
    relus, then = now["relus"], start["relus"].to(now["relus"].device)
    same = (relus == then).double().mean().item()
    return {"relus": same} | {
        name: alignment(now[name], start[name]) for name in ("kernel", "representation")
    }


def alignment(K: Tensor, other: Tensor) -> float:
    """Tr[K L] / (|K|_F |L|_F) of symmetric kernels, not a number where one is zero or empty."""
    first, second = K.double(), other.to(K.device).double()
    return float((first * second).sum() / (first.norm() * second.norm()))
