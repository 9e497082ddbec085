"""Figure 2.1 of George's thesis: pairs of normal distributions, equally far in their parameters.

ntkexp study +exp=lazy/normal_distributions
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pandas as pd

from ntkexp.results.table import Table, float64, string
from ntkexp.studies.base import Found, Study
from ntkexp.theory.lazy.normal_distributions import NAMED, kl, parameter_distance, shared

NORMALS = Table(
    "normals",
    "one of the four normal distributions of section 2.4.1",
    {
        "name": string("`A` to `D`"),
        "mean": float64("its mean"),
        "variance": float64("its variance"),
        "low": float64("where its central 95 % begin"),
        "high": float64("where they end"),
    },
)
PAIRS = Table(
    "normal_pairs",
    "two of them, and how far apart they are",
    {
        "first": string("`A` or `C`"),
        "second": string("`B` or `D`"),
        "parameters": float64("Euclidean distance of mean and variance"),
        "kl": float64("Kullback-Leibler divergence of the first from the second, nats"),
        "kl_reversed": float64("of the second from the first, nats"),
        "shared": float64("share of the union of their central 95 % that both cover, 0 to 1"),
    },
)


@dataclass
class NormalDistributions(Study):
    """Closed forms: ntkexp/theory/lazy/normal_distributions.py."""

    tables: ClassVar = (NORMALS, PAIRS)

    def compute(self) -> Found:
        rows = [
            {
                "name": name,
                "mean": normal.mean,
                "variance": normal.variance,
                "low": normal.central()[0],
                "high": normal.central()[1],
            }
            for name, normal in NAMED.items()
        ]
        pairs = [
            {
                "first": first,
                "second": second,
                "parameters": parameter_distance(NAMED[first], NAMED[second]),
                "kl": kl(NAMED[first], NAMED[second]),
                "kl_reversed": kl(NAMED[second], NAMED[first]),
                "shared": shared(NAMED[first], NAMED[second]),
            }
            for first, second in ("AB", "CD")
        ]
        return {NORMALS.name: pd.DataFrame(rows), PAIRS.name: pd.DataFrame(pairs)}
