"""How linear training is: how much of the network is still as it was at the start.

Three numbers in [0, 1], each 1 at the start (George's thesis, section 5.2): the share of ReLUs,
over all layers and examples, that are open or closed as at the start; and the alignment

    KA(K_t, K_0) = Tr[K_t K_0] / (|K_t|_F |K_0|_F)                                      (5.2.5)

of the whole tangent kernel, (n c, n c), and of K_R,ij = phi(x_i)^T phi(x_j), phi being the input of
the last linear layer. Neither kernel is centred.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ntkexp.probes.base import columns
from ntkexp.probes.initial_weights import RemembersStart
from ntkexp.probes.view import View
from ntkexp.results.table import STEP, Rows, Table, float64, string

LINEARITY = Table(
    "linearity",
    "how much of the network is as it was at the start, on the probe batch of a split, each from 0 "
    "to 1: the share of ReLUs that are open or closed as then, and the uncentred alignment with "
    "the start of the tangent kernel and of the kernel of the last layer's inputs",
    {
        "step": STEP,
        "split": string("`train` or `test`"),
        "relus": float64("share of all ReLUs and examples, 0 to 1"),
        "kernel": float64("(5.2.5) of George's thesis, 0 to 1, of the whole kernel"),
        "representation": float64("the same of the inputs of the last linear layer"),
    },
)
SPLITS = ("train", "test")


@dataclass
class Linearity(RemembersStart):
    """ReLUs and linear layers are those that are modules; without any their column is no number."""

    tables = (LINEARITY,)
    needs = frozenset({"kernel", "activations"})

    def measure(self, view: View) -> Rows:
        rows: list[tuple[object, ...]] = []
        for split in SPLITS:
            now = state_of(view.network("layers"), view.batches[split].inputs)
            now["kernel"] = view.kernel(split).gram
            rows.append((split, *compared(now, self._start.setdefault(split, now)).values()))
        return {"linearity": columns(LINEARITY, rows)}


@torch.no_grad()
def state_of(network: nn.Module, inputs: Tensor) -> dict[str, Tensor]:
    """`relus`: True for each that is open, all in one; `representation`: its kernel (n, n).

    Empty where the network has no such modules.
    """
    opened: list[Tensor] = []
    representations: list[Tensor] = []

    def on_relu(module: nn.Module, args: Any, outputs: Tensor) -> None:
        opened.append((outputs > 0).flatten())

    def on_linear(module: nn.Module, args: tuple[Tensor, ...]) -> None:
        representations[:] = [args[0].flatten(1)]

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


def alignment(K: Tensor, L: Tensor) -> float:
    """Tr[K L] / (|K|_F |L|_F) of symmetric kernels, not a number where one is zero or empty."""
    first, second = K.double(), L.to(K.device).double()
    return float((first * second).sum() / (first.norm() * second.norm()))
