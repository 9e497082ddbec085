"""How far the weights are from where they began, by length and by direction.

ntkexp train +exp=mlp_mnist 'probe=[distance]'

For a linearised network theta_0 are the weights it is linearised at.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ntkexp.probes.base import Measured
from ntkexp.probes.initial_weights import RemembersStart
from ntkexp.probes.view import View
from ntkexp.results.table import STEP, Table, float64

DISTANCE = Table(
    "distance",
    "how far all weights theta_t are from the first ones",
    {
        "step": STEP,
        "start": float64("|theta_0|"),
        "distance": float64("|theta_t - theta_0|"),
        "cosine_distance": float64("1 - <theta_t, theta_0> / |theta_t| |theta_0|, 0 to 2"),
    },
)


@dataclass
class Distance(RemembersStart):
    """In float64, one pass over the weights."""

    tables = (DISTANCE,)
    looks_at = frozenset()

    def measure(self, view: View) -> Measured:
        self.remember(view)
        squares = [0.0, 0.0, 0.0]  # |theta_0|^2, |theta_t|^2, |theta_t - theta_0|^2
        weights = dict(view.network().named_parameters())
        for name, first in self.start().items():
            start, now = first.double(), weights[name].detach().double()
            for place, part in enumerate((start, now, now - start)):
                squares[place] += part.square().sum().item()
        start_norm, norm, distance = (square**0.5 for square in squares)
        # <a, b> = (|a|^2 + |b|^2 - |a - b|^2) / 2 keeps small angles, which a - b has exactly.
        apart, product = distance**2 - (norm - start_norm) ** 2, norm * start_norm
        return {
            "distance": {
                "start": start_norm,
                "distance": distance,
                "cosine_distance": apart / (2 * product) if product else math.nan,
            }
        }
