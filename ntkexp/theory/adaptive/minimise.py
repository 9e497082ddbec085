"""Minima and roots of functions of one variable, for many parameters at once.

A function takes an array of one point for each parameter and gives as many values.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ntkexp.theory.float64 import Array, array

GRID = 201  # points that find the basin of the least minimum
SECTIONS = 60  # golden sections that follow: a factor 0.618 each
GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0


def least_from_one(penalty: Callable[[Array], Array], v: Array) -> Array:
    """The z >= 1 that makes penalty(z) + v^2 / z^2 least, where z = 1 gives v^2.

    Beyond a z at which the penalty alone is more than a sum that was seen, nothing can be gained.
    """
    square = v**2
    top, least = np.full_like(v, 2.0), square
    while bool(np.any(short := penalty(top) < least)):
        least = np.minimum(least, penalty(top) + square / top**2)
        top = np.where(short, 2 * top, top)
    log = np.log(top)

    def objective(t: Array) -> Array:
        z = np.exp(t * log)
        return array(penalty(z) + square / z**2)

    z = np.exp(least_between(objective, v.shape) * log)
    better = penalty(z) + square / z**2 < square
    return array(np.where(better, z, 1.0))


def least_between(objective: Callable[[Array], Array], shape: tuple[int, ...]) -> Array:
    """The t in [0, 1] at which the objective is least: the best of a grid, then golden sections.

    The grid is denser near both ends, as t^2: a minimum may lie close to z = 1.
    """
    even = np.linspace(0.0, 1.0, GRID)
    grid = np.unique(np.concatenate([even**2, 1 - even**2]).round(12))
    values = np.stack([objective(np.full(shape, t)) for t in grid])
    best = np.argmin(values, axis=0)
    low, high = grid[np.maximum(best - 1, 0)], grid[np.minimum(best + 1, len(grid) - 1)]
    ends = low.copy(), high.copy()
    for _ in range(SECTIONS):
        left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        lower = objective(left) < objective(right)
        low, high = np.where(lower, low, left), np.where(lower, right, high)
    inner = (low + high) / 2
    # The bracket's own ends may be minima at the border.
    candidates = np.stack([inner, *ends])
    found = np.stack([objective(t) for t in candidates])
    return array(np.take_along_axis(candidates, found.argmin(0)[None], axis=0)[0])


def root_above_one(increasing: Callable[[Array], Array], target: Array) -> Array:
    """The z >= 1 with increasing(z) = target, for a function that is at most `target` at 1.

    By bisection in log z, to the last digit.
    """
    low, high = np.zeros_like(target), np.ones_like(target)
    while bool(np.any(short := increasing(np.exp(high)) < target)):
        high = np.where(short, 2 * high, high)
    for _ in range(70):
        middle = (low + high) / 2
        below = increasing(np.exp(middle)) < target
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return array(np.exp((low + high) / 2))
