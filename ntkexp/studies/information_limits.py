"""How near lower bounds of mutual information come with the best function there is: no training,
samples alone (chapter 5 of Baratin's thesis, its prologue; McAllester and Stratos, "Formal
limitations on the measurement of mutual information", 2020).

ntkexp study +exp=information/limits
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import torch

from ntkexp.information.bounds import donsker_varadhan, info_nce, nwj
from ntkexp.options import MANY, SEED, count, each, option, whole
from ntkexp.results.table import Table, float64, int64, string
from ntkexp.studies.base import Found, Part, Study
from ntkexp.theory.float64 import Array
from ntkexp.theory.information.gaussian import information, log_ratios, sampled_ratios

LIMITS = Table(
    "information_limits",
    "a bound on n samples by the best function, over many samples, in nats",
    {
        "rho": float64("correlation of coordinates"),
        "n": int64("pairs of a sample"),
        "bound": string("its name", choices=("DV", "NWJ", "InfoNCE")),
        "truth": float64("the mutual information"),
        "mean": float64("over samples"),
        "error": float64("standard error of the mean"),
        "low": float64("5th centile"),
        "median": float64("over samples"),
        "high": float64("95th centile"),
    },
)
GROUPS_AT_ONCE = 64


@dataclass
class InformationLimits(Study):
    """Pairs of ntkexp/theory/information/gaussian.py; InfoNCE is the mean over groups of
    `candidates` pairs, or of all where there are fewer."""

    tables: ClassVar = (LIMITS,)
    tiny: ClassVar = {"repetitions": 5}

    seed: int = option(0, SEED, "the start of all random numbers")
    dimension: int = option(20, count("coordinates", most=10_000), "coordinates of x and of z")
    rhos: list[float] = option([0.3, 0.5, 0.7, 0.9], about="correlations")
    sizes: list[int] = option(
        [100, 1000, 10_000, 100_000, 1_000_000], each(whole(2, MANY, "pairs"), 1), "pairs, n"
    )
    repetitions: int = option(100, whole(2, MANY, "samples"), "samples of each size")
    candidates: int = option(128, whole(2, MANY, "pairs"), "of InfoNCE, K")

    def parts(self) -> list[Part]:
        return [partial(limits, self, rho, n) for rho in self.rhos for n in self.sizes]


def limits(study: InformationLimits, rho: float, n: int) -> Found:
    stream = np.random.default_rng([study.seed, round(1e6 * abs(rho)), n])
    values = [sampled(study, rho, n, stream) for _ in range(study.repetitions)]
    truth = information(rho, study.dimension)
    names = [*values[0]]
    of_bound = np.array([[one[name] for name in names] for one in values])
    low, median, high = np.quantile(of_bound, [0.05, 0.5, 0.95], axis=0)
    return {
        LIMITS.name: {
            "rho": rho, "n": n, "bound": names, "truth": truth, "mean": of_bound.mean(0),
            "error": of_bound.std(0, ddof=1) / np.sqrt(len(values)),
            "low": low, "median": median, "high": high,
        }
    }  # fmt: skip


def sampled(
    study: InformationLimits, rho: float, n: int, stream: np.random.Generator
) -> Mapping[str, float]:
    """The bounds on one sample, each at its own optimum."""
    joint, apart = map(torch.from_numpy, sampled_ratios(rho, study.dimension, n, stream))
    return {
        "DV": donsker_varadhan(joint, apart).item(),
        "NWJ": nwj(joint + 1, apart + 1).item(),
        "InfoNCE": contrasted(study, rho, n, stream),
    }


def contrasted(study: InformationLimits, rho: float, n: int, stream: np.random.Generator) -> float:
    K = min(study.candidates, n)
    found: list[Array] = []
    for groups in np.array_split(np.arange(n // K), -(-(n // K) // GROUPS_AT_ONCE)):
        x, noise = stream.normal(size=(2, len(groups), K, study.dimension))
        z = rho * x + np.sqrt(1 - rho**2) * noise
        found.append(info_nce(torch.from_numpy(log_ratios(x, z, rho))).numpy())
    return float(np.concatenate(found).mean())
