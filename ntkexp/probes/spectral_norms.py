"""The spectral norm of every weight matrix, by 10 power iterations (appendix A.1.1 of "On the
Spectral Bias of Neural Networks").

ntkexp train +exp=spectral/equal
"""

from __future__ import annotations

from dataclasses import dataclass

from ntkexp.probes.base import Probe
from ntkexp.probes.view import View
from ntkexp.results.table import STEP, Rows, Table, float32, string
from ntkexp.theory.spectral.lipschitz import power_iteration

SPECTRAL_NORMS = Table(
    "spectral_norms",
    "the spectral norm of a layer's weights, from below: 10 power iterations",
    {
        "step": STEP,
        "layer": string("its name"),
        "norm": float32("largest singular value"),
    },
)


@dataclass
class SpectralNorms(Probe):
    """Measures every parameter that is a matrix."""

    tables = (SPECTRAL_NORMS,)
    looks_at = frozenset()

    def measure(self, view: View) -> Rows:
        weights = {
            name.removesuffix(".weight"): weight.detach().cpu().numpy()
            for name, weight in view.network().named_parameters()
            if weight.dim() == 2
        }
        norms = [power_iteration(W) for W in weights.values()]
        return {"spectral_norms": {"layer": [*weights], "norm": norms}}
