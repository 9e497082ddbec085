r"""What four preconditioners divide a gradient by, for a unit of two inputs (George's thesis,
Figure 4.1).

ntkexp study +exp=curvature/rescaling

The unit's output is off by delta = w^T a + noise, for inputs a ~ N(0, Sigma), so its gradient is
delta a. Moments of normal numbers (Isserlis) give the Fisher matrix in closed form:

.. math:: F = E[\delta^2 a a^T] = E[\delta^2] \Sigma + 2 \Sigma w w^T \Sigma, \qquad
          E[\delta^2] = w^T \Sigma w + \sigma^2

and KFAC's is the first of its two terms, A x B with A = Sigma and B = E[delta^2].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ntkexp.options import Rule, each, not_negative, option, positive
from ntkexp.results.table import Table, float64, int64, string
from ntkexp.studies.base import Found, Study

STRATEGIES = ("exact", "diagonal", "kfac", "ekfac")
RESCALING = Table(
    "rescaling",
    "one of the two axes along which a strategy divides a gradient",
    {
        "strategy": string("`exact`, `diagonal`, `kfac` or `ekfac`", STRATEGIES),
        "axis": int64("0 or 1"),
        "x": float64("first coordinate of its direction, of length 1"),
        "y": float64("second coordinate"),
        "divisor": float64("what the strategy divides by there"),
        "moment": float64("the second moment of the gradient there"),
    },
)
Array = NDArray[np.float64]


@dataclass
class Rescaling(Study):
    """Closed forms, in two dimensions."""

    tables: ClassVar = (RESCALING,)

    deviations: list[float] = option([1.5, 0.7], each(positive(), 2, most=2), "of the two inputs")
    correlation: float = option(
        0.6, Rule(lambda number: abs(number) < 1, "a number between -1 and 1"), "of the inputs"
    )
    weights: list[float] = option(
        [0.0, 1.2],
        each(Rule(math.isfinite, "a number"), 2, most=2),
        "w, by which the output is off",
    )
    noise: float = option(0.3, not_negative(), "deviation of the noise in delta")

    def compute(self) -> Found:
        covariance = covariance_of(self.deviations, self.correlation)
        fisher, kfac = matrices(covariance, np.array(self.weights), self.noise)
        (exact, by_exact), (products, by_kfac) = np.linalg.eigh(fisher), np.linalg.eigh(kfac)
        moments = np.einsum("ia,ij,ja->a", by_kfac, fisher, by_kfac)
        axes = {
            "exact": (by_exact, exact),
            "diagonal": (np.eye(2), fisher.diagonal()),
            "kfac": (by_kfac, products),
            "ekfac": (by_kfac, moments),
        }
        rows = [
            {
                "strategy": strategy,
                "axis": axis,
                "x": directions[0, axis],
                "y": directions[1, axis],
                "divisor": divisors[axis],
                "moment": directions[:, axis] @ fisher @ directions[:, axis],
            }
            for strategy, (directions, divisors) in axes.items()
            for axis in (0, 1)
        ]
        return {RESCALING.name: pd.DataFrame(rows)}


def covariance_of(deviations: list[float], correlation: float) -> Array:
    first, second = deviations
    apart = correlation * first * second
    return np.array([[first**2, apart], [apart, second**2]])


def matrices(covariance: Array, weights: Array, noise: float) -> tuple[Array, Array]:
    """F and KFAC's approximation of it."""
    moved = covariance @ weights
    kfac = (weights @ moved + noise**2) * covariance
    return kfac + 2 * np.outer(moved, moved), kfac
