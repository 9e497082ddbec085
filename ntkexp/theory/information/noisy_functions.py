"""The mutual information of X ~ U(-1, 1) and f(X) + noise (Figure 5.2), by quadrature.

    Y = f(X) + sigma e,   p(y) = 1/2 int_{-1}^{1} N(y; f(x), sigma^2) dx,
    I = h(Y) - h(e sigma) = -int p log p dy - 1/2 log(2 pi e sigma^2)

The text calls it the same for every f. It is not, for f(X) has another entropy than X.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ntkexp.theory.float64 import Array

FUNCTIONS: Mapping[str, Callable[[Array], Array]] = {
    "identity": lambda x: x,
    "cube": lambda x: x**3,
    "sine": np.sin,
}
NODES, POINTS, TAILS = 400, 4001, 10


def information(function: str, sigma: float) -> float:
    """I of one coordinate, in nats.

    >>> round(information("identity", 0.1), 3), round(information("cube", 0.9), 3)
    (1.667, 0.081)
    """
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    y = np.linspace(-1 - TAILS * sigma, 1 + TAILS * sigma, POINTS)
    distance = (y[:, None] - FUNCTIONS[function](nodes)) / sigma
    density = np.exp(-(distance**2) / 2) @ weights / (2 * sigma * np.sqrt(2 * np.pi))
    entropy = -(density * np.log(np.maximum(density, 1e-300))).sum() * (y[1] - y[0])
    return float(entropy - np.log(2 * np.pi * np.e * sigma**2) / 2)
