"""The discrete Fourier transform of a network on its training points, which lie on a grid.

ntkexp train +exp=spectral/equal
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from ntkexp.options import count, each, option
from ntkexp.probes.base import Probe
from ntkexp.probes.view import View
from ntkexp.results.table import STEP, Rows, Table, float32, int64
from ntkexp.theory.spectral.dft import coefficients

FOURIER = Table(
    "fourier",
    "the Fourier coefficient of a network at one frequency, on the training points",
    {
        "step": STEP,
        "k": int64("frequency: oscillations over all points"),
        "magnitude": float32("of the coefficient; A for a sine of amplitude A"),
        "residual": float32("magnitude of the coefficient of outputs less targets"),
        "target": float32("magnitude of the targets' coefficient"),
    },
    notes="Coefficients are 2/N times the sum over N points.",
)


@dataclass
class Fourier(Probe):
    """Measures at `frequencies`, or where none is named at all: 1 to half the number of points."""

    tables = (FOURIER,)
    needs = frozenset({"network", "examples"})
    looks_at = frozenset()

    frequencies: list[int] = option([], each(count("oscillations")), "to measure; none: all")

    def measure(self, view: View) -> Rows:
        train = view.examples("train")
        with torch.no_grad():
            outputs = view.network()(train.inputs)[:, 0].double().cpu().numpy()
        targets = train.targets.double().cpu().numpy()
        f, y = coefficients(outputs), coefficients(targets)
        k = np.array(self.frequencies or range(1, len(f)), dtype=int)
        k = k[k < len(f)]
        return {
            "fourier": {
                "k": k,
                "magnitude": np.abs(f[k]),
                "residual": np.abs(f[k] - y[k]),
                "target": np.abs(y[k]),
            }
        }
