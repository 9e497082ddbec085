"""A number on the circle that goes round k times with another: Z = k X + sigma e mod 1, X uniform.

    I = h(Z) - h(Z | X) = -h(sigma e mod 1)

Z is uniform for whole k, and k is in none of it.
"""

from __future__ import annotations

import numpy as np

POINTS, TURNS = 20_001, 5


def information(sigma: float) -> float:
    """I in nats, by quadrature.

    >>> round(information(0.05), 3)
    1.577
    """
    z = (np.arange(POINTS) + 0.5) / POINTS - 0.5
    turns = z[:, None] + np.arange(-TURNS, TURNS + 1)
    density = np.exp(-((turns / sigma) ** 2) / 2).sum(1) / (sigma * np.sqrt(2 * np.pi))
    return float((density * np.log(np.maximum(density, 1e-300))).mean())
