"""Outputs of the network where its training loss first falls below given levels.

Runs that learn at different speeds are compared at equal progress, not at equal steps (George's
thesis, section 5.3): their outputs on the same examples, at the same training loss
(`probing.losses`).

    ntkexp train +exp=disk probe=[snapshot] probing.losses=[0.5,0.4,0.3]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ntkexp.errors import UserError
from ntkexp.objectives.evaluate import outputs_of
from ntkexp.options import FOR_ALL, one_of, option
from ntkexp.probes.base import Probe
from ntkexp.probes.view import View
from ntkexp.results.table import STEP, Rows, Table, float32, int64, string

SNAPSHOT = Table(
    "snapshot",
    "one output of the network for one example of a split, at a step at which the training loss "
    "was first seen below one of `probing.losses` (the table events says which), or at every look",
    {
        "step": STEP,
        "split": string("`train` or `test`"),
        "example": int64("number of the example in its split, from 0"),
        "output": int64("number of the output, from 0"),
        "value": float32("the output: a logit, or a number for squared error"),
        "loss": float32("of the example, the same for all its outputs"),
    },
)


@dataclass
class Snapshot(Probe):
    """Outputs where losses are passed, and at every look if that is asked for."""

    tables = (SNAPSHOT,)
    needs = frozenset({"network", "examples"})
    looks_at = frozenset()

    split: str = option("test", one_of("train", "test"), "whose outputs are kept")
    examples: int | None = option(None, FOR_ALL, "how many examples")
    looks: bool = option(False, about="keep outputs at every look, too")

    def check(self, config: Any = None) -> None:
        if not self.looks and not config.probing.losses:
            raise UserError(
                "probe.snapshot: waits for training losses, and probing.losses=[] names none; "
                "expected probing.losses=[0.5,...] or probe.snapshot.looks=true"
            )

    def measure(self, view: View) -> Rows:
        if view.event is None and not self.looks:
            return {}
        split = view.examples(self.split)
        inputs, targets = split.inputs[: self.examples], split.targets[: self.examples]
        outputs = outputs_of(view.network(), inputs)
        losses = view.objective.losses(outputs, targets)
        examples, width = outputs.shape
        return {
            "snapshot": {
                "split": np.full(examples * width, self.split),
                "example": np.repeat(np.arange(examples), width),
                "output": np.tile(np.arange(width), examples),
                "value": outputs.flatten().cpu().numpy(),
                "loss": np.repeat(losses.cpu().numpy(), width),
            }
        }
