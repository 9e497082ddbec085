"""Two normal distributions, how far apart in their parameters and as distributions.

George's thesis, section 2.4.1: a distance of parameters (mu, sigma^2) says little of that of the
densities they stand for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.stats import norm


@dataclass(frozen=True)
class Normal:
    """N(mean, variance)."""

    mean: float
    variance: float

    @property
    def spread(self) -> float:
        return math.sqrt(self.variance)

    def central(self, share: float = 0.95) -> tuple[float, float]:
        """The interval around the mean that holds this share of all draws."""
        reach = float(norm.ppf((1 + share) / 2)) * self.spread
        return self.mean - reach, self.mean + reach


# The four of the example, f^A to f^D.
NAMED = {
    "A": Normal(0.0, 1.0),
    "B": Normal(0.0, 2.0),
    "C": Normal(-0.5, 1 - math.sqrt(0.75)),
    "D": Normal(0.5, 1 - math.sqrt(0.75)),
}


def parameter_distance(p: Normal, q: Normal) -> float:
    """d_parameter (2.4.2): Euclidean, of (mean, variance)."""
    return math.hypot(p.mean - q.mean, p.variance - q.variance)


def kl(p: Normal, q: Normal) -> float:
    """KL(p || q) = (log(v_q / v_p) + (v_p + (m_p - m_q)^2) / v_q - 1) / 2, in nats.

    >>> round(kl(Normal(0, 1), Normal(0, 2)), 4)
    0.0966
    """
    squares = p.variance + (p.mean - q.mean) ** 2
    return (math.log(q.variance / p.variance) + squares / q.variance - 1) / 2


def shared(p: Normal, q: Normal, share: float = 0.95) -> float:
    """The share of the union of two central intervals that is common to both."""
    (a, b), (c, d) = p.central(share), q.central(share)
    return max(0.0, min(b, d) - max(a, c)) / (max(b, d) - min(a, c))
