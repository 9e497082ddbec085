"""The whole function of a network on its training points, at a few steps.

ntkexp train +exp=spectral/equal
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from ntkexp.options import STEPS, count, option
from ntkexp.probes.base import Probe
from ntkexp.probes.view import View
from ntkexp.results.table import STEP, Rows, Table, float32, int64

CURVE = Table(
    "curve",
    "the network's output at one training point",
    {
        "step": STEP,
        "point": int64("number of the point, from 0"),
        "output": float32("of the network"),
        "target": float32("that it is trained on"),
    },
)


@dataclass
class Curve(Probe):
    """Looks at the steps `steps` alone, or at every look where none is named; of many networks in
    one run at the first `networks`."""

    tables = (CURVE,)
    needs = frozenset({"network", "examples"})
    looks_at = frozenset()

    steps: list[int] = option([], STEPS, "looks at which the function is kept; none: all")
    networks: int = option(1, count("networks"), "of many networks in one run the first")

    def measure(self, view: View) -> Rows:
        if view.member >= self.networks or (self.steps and view.step not in self.steps):
            return {}
        train = view.examples("train")
        with torch.no_grad():
            outputs = view.network()(train.inputs)[:, 0].cpu().numpy()
        return {
            "curve": {
                "point": np.arange(len(outputs)),
                "output": outputs,
                "target": train.targets.float().cpu().numpy(),
            }
        }
