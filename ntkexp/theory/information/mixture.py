"""What a Gaussian encoder keeps of finitely many inputs, each as likely as the others.

    z | x_j ~ N(mu_j, diag(sigma_j^2)),   I = E log p(z | x) - log 1/N sum_j p(z | x_j)

log N at most.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ntkexp.theory.float64 import Array, array

ROWS_AT_ONCE = 250


def information(mean: ArrayLike, sigma: ArrayLike, samples: ArrayLike, whose: ArrayLike) -> float:
    """I in nats, by samples of z.

    Args:
        mean, sigma: (N, d).
        samples: (m, d), z of the inputs with the numbers `whose`, (m,).

    >>> information([[0.0], [1000.0]], [[1.0], [1.0]], [[0.5], [999.0]], [0, 1]).__round__(4)
    0.6931
    """
    centres, widths = array(mean), array(sigma)
    z, numbers = array(samples), np.asarray(whose)
    parts = [
        _log_ratios(centres, widths, z[first : first + ROWS_AT_ONCE],
                    numbers[first : first + ROWS_AT_ONCE])
        for first in range(0, len(z), ROWS_AT_ONCE)
    ]  # fmt: skip
    return float(np.concatenate(parts).mean())


def _log_ratios(mean: Array, sigma: Array, z: Array, whose: np.ndarray) -> Array:
    precision = sigma**-2.0
    constant = -np.log(sigma).sum(1) - (mean**2 * precision).sum(1) / 2
    logs = constant + z @ (mean * precision).T - z**2 @ precision.T / 2  # (m, N)
    own = logs[np.arange(len(z)), whose]
    most = logs.max(1)
    marginal = most + np.log(np.exp(logs - most[:, None]).mean(1))
    return array(own - marginal)
