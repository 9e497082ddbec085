"""A network of the plane, on a square lattice, and the radial spectrum of its class probability or,
where targets are numbers, of its output.

ntkexp train +exp=spectral/decision_maps

zeta(k) = k int |f~(k, phi)| dphi of appendix A.5.2 of "On the Spectral Bias of Neural Networks".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch

from ntkexp.errors import UserError
from ntkexp.models.base import formatted_shape
from ntkexp.options import option, positive, whole
from ntkexp.probes.base import Probe
from ntkexp.probes.view import View
from ntkexp.results.table import STEP, Rows, Table, float32, float64, int64, string
from ntkexp.theory.float64 import Array
from ntkexp.theory.spectral.manifold import lattice, radial_spectrum

DECISION_MAP = Table(
    "decision_map",
    "the log-odds of class 1 at one point of the plane; none where targets are numbers",
    {
        "step": STEP,
        "row": int64("of the lattice, from low y to high y"),
        "column": int64("of the lattice, from low x to high x"),
        "logit": float32("to two decimals, cut at ±30"),
    },
)
RADIAL_SPECTRUM = Table(
    "radial_spectrum",
    "the sum of a map's Fourier magnitudes over all directions, at one frequency",
    {
        "step": STEP,
        "map": string(
            "of class probabilities, of classes, or of outputs, these times a Hann window",
            choices=("probability", "class", "output"),
        ),
        "k": int64("periods over the side of the square"),
        "zeta": float64("sum over the ring of frequencies nearest to k"),
    },
)
POINTS_AT_ONCE = 1 << 14


@dataclass
class DecisionMap(Probe):
    """Looks at the end, on a lattice of `grid` x `grid` points of [-a, a]^2, a = `half_width`;
    every `kept`-th row and column of the map is kept."""

    tables = (DECISION_MAP, RADIAL_SPECTRUM)
    needs = frozenset({"network", "examples", "training"})
    looks_at = frozenset()
    tiny: ClassVar = {"grid": 16}

    grid: int = option(512, whole(4, 4096, "points a side"), "points a side of the lattice")
    half_width: float = option(1.6, positive(1e6), "half the side of the square")
    kept: int = option(2, whole(1, 4096, "points"), "of so many points a side one is kept")

    def check(self, config: Any = None) -> None:
        shape = config.data.shape()
        if shape is not None and shape.inputs != (2,):
            raise UserError(
                f"probe.decision_map: is of networks of the plane, data={config.data.name} has "
                f"inputs of {formatted_shape(shape.inputs)}; expected two numbers, as in data=disk"
            )
        if self.grid % self.kept:
            raise UserError(
                f"probe.decision_map.kept={self.kept}: expected a divisor of the {self.grid} "
                "points a side"
            )

    def measure(self, view: View) -> Rows:
        if not view.last:
            return {}
        network = view.network()
        points = torch.from_numpy(lattice(self.grid, self.half_width)).float()
        device = next(network.parameters()).device
        with torch.no_grad():
            blocks = torch.split(points, POINTS_AT_ONCE)
            outputs = torch.cat([network(block.to(device))[:, 0] for block in blocks])
        logits = outputs.double().cpu().view(self.grid, self.grid)
        if view.examples("train").targets.is_floating_point():
            # Beyond the curve an output grows; its jumps at the square's sides are no frequencies.
            window = np.hanning(self.grid + 1)[:-1]
            return {
                "radial_spectrum": spectra({"output": logits.numpy() * np.outer(window, window)})
            }
        coarse = logits[:: self.kept, :: self.kept].clamp(-30, 30).numpy().round(2)
        side = len(coarse)
        maps = {"probability": logits.sigmoid().numpy(), "class": (logits > 0).double().numpy()}
        return {
            "decision_map": {
                "row": np.repeat(np.arange(side), side),
                "column": np.tile(np.arange(side), side),
                "logit": coarse.ravel(),
            },
            "radial_spectrum": spectra(maps),
        }


def spectra(maps: dict[str, Array]) -> dict[str, object]:
    found = {name: radial_spectrum(values) for name, values in maps.items()}
    k = np.arange(1, len(next(iter(found.values()))) + 1)
    return {
        "map": np.repeat([*found], len(k)),
        "k": np.tile(k, len(found)),
        "zeta": np.concatenate([*found.values()]),
    }
