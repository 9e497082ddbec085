"""A network as the sum of its own linearisations: the thread of George's thesis.

Every update moves the function by what its tangent features at that moment say, and a remainder of
second order ((1.3.1), (7.1.1)):

    f_T(x) - f_0(x) = sum_t <dw_t, Phi_{w_t}(x)> + remainder.

The sum is taken over all updates, on the probe batch of each split. The remainder is 0 for a
linearised network. It falls with the learning rate, but for networks of ReLUs not to 0: a flow that
slides along the kink of a unit crosses it at every step, however short the steps are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ntkexp.probes.base import Update, columns
from ntkexp.probes.initial_weights import RemembersStart
from ntkexp.probes.view import View
from ntkexp.results.table import STEP, Rows, Table, float64, string
from ntkexp.tangent import push_forward

TELESCOPE = Table(
    "telescope",
    "how far the outputs on the probe batch of a split have moved since the start, by the sum of "
    "the first-order changes of all updates, and what these leave over; root mean squares",
    {
        "step": STEP,
        "split": string("`train` or `test`"),
        "moved": float64("root mean square of f_t - f_0, in units of the outputs"),
        "first_order": float64("the same of the sum of the first-order changes"),
        "remainder": float64("the same of their difference"),
    },
)
SPLITS = ("train", "test")


@dataclass
class Telescope(RemembersStart):
    """Sees every update, at the price of a forward and two backwards on the probe batches."""

    tables = (TELESCOPE,)
    needs = frozenset({"outputs", "updates", "changes"})

    def __post_init__(self) -> None:
        super().__post_init__()
        self._sum: dict[str, Tensor] = {}

    def watches(self, step: int) -> bool:
        return True

    def before_update(self, update: Update) -> Rows:
        for split in SPLITS:
            pushed = push_forward(update.model, update.batches[split].inputs, update.changes())
            pushed = update.kernel_factor**0.5 * pushed.double()
            self._sum[split] = self._sum[split] + pushed if split in self._sum else pushed
        return {}

    def measure(self, view: View) -> Rows:
        rows: list[tuple[object, ...]] = []
        for split in SPLITS:
            outputs = view.outputs(split).double()
            moved = outputs - self._start.setdefault(split, outputs).to(outputs.device)
            added = self._sum.get(split, torch.zeros_like(outputs)).to(outputs.device)
            changes = (moved, added, moved - added)
            rows.append((split, *(change.square().mean().sqrt().item() for change in changes)))
        return {"telescope": columns(TELESCOPE, rows)}

    def state(self) -> dict[str, Any]:
        return {**super().state(), "sum": self._sum}

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self._sum = state["sum"]
