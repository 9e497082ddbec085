"""Pairs of normal vectors whose coordinates are correlated one by one (Figure 5.1): what their
mutual information is, and what estimators of it come to at best.

    x ~ N(0, Id),  z = rho x + sqrt(1 - rho^2) e,  I = -d/2 log(1 - rho^2)

The best function T* = log dP/dQ is a sum of two independent chi-squares, of u = (x + z) / sqrt 2
and v = (x - z) / sqrt 2 (derived here):

    T* = I + rho / (2 (1 + rho)) |u|^2 - rho / (2 (1 - rho)) |v|^2

where u ~ N(0, 1 + rho) and v ~ N(0, 1 - rho) for pairs, and both N(0, 1) for x and z apart. So
samples of T* need two numbers each, whatever d.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ntkexp.theory.float64 import Array, array


def information(rho: float, dimension: int = 1) -> float:
    """I in nats.

    >>> round(information(0.9), 4), round(information(0.5, 20), 3)
    (0.8304, 2.877)
    """
    return float(-dimension / 2 * np.log1p(-(rho**2)))


def log_ratios(x: ArrayLike, z: ArrayLike, rho: float) -> Array:
    """(..., n, m): T*(x_i, z_j) = log dP/dQ of x (..., n, d) and z (..., m, d).

    >>> log_ratios([[1.0]], [[1.0]], rho=0.0).tolist()
    [[0.0]]
    """
    first, second = array(x), array(z)
    squares = (first**2).sum(-1)[..., :, None] + (second**2).sum(-1)[..., None, :]
    exponent = rho * first @ np.swapaxes(second, -1, -2) - rho**2 / 2 * squares
    return array(information(rho, first.shape[-1]) + exponent / (1 - rho**2))


def sampled_ratios(
    rho: float, dimension: int, count: int, generator: np.random.Generator
) -> tuple[Array, Array]:
    """T* of so many pairs, and of as many x and z apart."""
    u, v = generator.chisquare(dimension, size=(2, 2, count))
    joint = rho / 2 * (u[0] - v[0])
    apart = rho / 2 * (u[1] / (1 + rho) - v[1] / (1 - rho))
    return information(rho, dimension) + joint, information(rho, dimension) + apart
