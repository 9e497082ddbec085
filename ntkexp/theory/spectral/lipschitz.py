"""The chain of equation (7): with spectral norms |.|, and |theta|_inf the largest weight,

L_f <= prod_k |W_k| <= |theta|_inf^(L+1) sqrt(d) prod_k d_k.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ntkexp.theory.float64 import Array


def power_iteration(W: Array, iterations: int = 10) -> float:
    """|W| from below, by power iterations from a fixed vector without structure (A.1.1).

    >>> round(power_iteration(np.diag([3.0, 1.0])), 6)
    3.0
    """
    v = np.cos(np.arange(W.shape[1]) ** 2 + 1.0)
    for _ in range(iterations):
        v = W.T @ (W @ v)
        v /= np.linalg.norm(v) or 1.0  # of a matrix of zeros nothing is left
    return float(np.linalg.norm(W @ v))


def product_bound(weights: Sequence[Array]) -> float:
    """prod_k |W_k| with exact spectral norms."""
    return math.prod(float(np.linalg.norm(W, 2)) for W in weights)


def max_norm_bound(weights: Sequence[Array]) -> float:
    """|theta|_inf^(L+1) sqrt(d) prod_k d_k, for weights (out, in) with one output.

    >>> max_norm_bound([np.ones((3, 1)), np.ones((1, 3))])
    3.0
    """
    largest = max(float(np.abs(W).max()) for W in weights)
    widths = math.prod(W.shape[0] for W in weights[:-1])
    return float(largest ** len(weights) * math.sqrt(weights[0].shape[1]) * widths)
