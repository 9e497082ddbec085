"""Penalties of M, and what they make of the coefficients beta = M (theta - theta_0).

A penalty omega of a singular value of M is least at 1, where it is 0. Paying for M as well as for
theta is to pay for beta alone, by the effective penalty (12)

    omega~(v) = min over z >= 1 of  omega(z) + v^2 / z^2,

and a matrix that is multiplied from both sides by the joint penalty (11)

    (omega_1 (+) omega_2)(v) = min over 1 <= z <= v of  omega_1(z) + omega_2(v / z).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from ntkexp.theory.float64 import Array, array

GRID = 201  # points that find the basin of the least minimum
SECTIONS = 60  # golden sections that follow: a factor 0.618 each
GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0


class Penalty(Protocol):
    """omega on z >= 1: 0 at 1, strictly increasing beyond."""

    def __call__(self, z: ArrayLike) -> Array:
        """omega(z)."""

    def minimiser(self, v: ArrayLike) -> Array:
        """The z >= 1 of (12), of every v >= 0."""


def effective(penalty: Penalty, v: ArrayLike) -> Array:
    """omega~(v) of equation (12).

    >>> effective(Power(2), [0.1, 1.0, 10.0]).round(6).tolist()
    [0.009903, 0.6695, 14.404027]
    """
    z = penalty.minimiser(v)
    return array(penalty(z) + (array(v) / z) ** 2)


@dataclass(frozen=True)
class Power:
    """omega(z) = |z - 1|^p.

    For p >= 1 the minimiser of (12) is the root of p (z - 1)^(p-1) z^3 = 2 v^2: z^3 (z - 1) = v^2
    for p = 2, and max(1, (2 v^2)^(1/3)) for p = 1.
    """

    p: float

    def __call__(self, z: ArrayLike) -> Array:
        return array(np.abs(array(z) - 1.0) ** self.p)

    def minimiser(self, v: ArrayLike) -> Array:
        square = array(v) ** 2
        if self.p == 1:
            return array(np.maximum(1.0, np.cbrt(2 * square)))
        if self.p == 2:
            return root_above_one(lambda z: z**3 * (z - 1), square)
        return least_from_one(self, array(v))


@dataclass(frozen=True)
class Fixed:
    """The characteristic function of {1}: M is the identity, and omega (+) chi_{1} = omega."""

    def __call__(self, z: ArrayLike) -> Array:
        return array(np.where(array(z) == 1.0, 0.0, np.inf))

    def minimiser(self, v: ArrayLike) -> Array:
        return np.ones_like(array(v))


@dataclass(frozen=True)
class Joint:
    """omega_1 (+) omega_2 of equation (11): what M_1 and M_2 together pay for one singular value.

    Closed forms: with chi_{1} on one side it is the other penalty. Twice the same power p >= 1 is
    split evenly, 2 (sqrt(v) - 1)^p, since (e^t - 1)^p is convex in t >= 0. (z - 1)^2 with |z - 1|
    gives all of v <= (1 + sqrt 3) / 2 to the square, and beyond it z with 2 (z - 1) z^2 = v.
    """

    first: Penalty
    second: Penalty

    def __call__(self, z: ArrayLike) -> Array:
        z1, z2 = self.split(z)
        return array(self.first(z1) + self.second(z2))

    def split(self, v: ArrayLike) -> tuple[Array, Array]:
        """(z, v / z): how the two sides share a factor v >= 1."""
        value = array(v)
        if isinstance(self.second, Fixed):
            return value, np.ones_like(value)
        if isinstance(self.first, Fixed):
            return np.ones_like(value), value
        if self._even:
            return array(np.sqrt(value)), array(np.sqrt(value))
        if self._powers() == (2.0, 1.0):
            z = _square_beside_absolute(value)
            return z, array(value / z)
        if self._powers() == (1.0, 2.0):
            z = _square_beside_absolute(value)
            return array(value / z), z
        z = least_split(self.first, self.second, value)
        return z, array(value / z)

    def minimiser(self, v: ArrayLike) -> Array:
        value = array(v)
        if isinstance(self.second, Fixed):
            return self.first.minimiser(value)
        if isinstance(self.first, Fixed):
            return self.second.minimiser(value)
        if self._even and self._powers()[0] == 1:
            return array(np.maximum(1.0, (2 * value**2) ** 0.4))  # u^5 = 2 v^2, u = sqrt z
        if self._even and self._powers()[0] == 2:
            return root_above_one(lambda u: u**5 * (u - 1), value**2) ** 2
        return least_from_one(self, value)

    @property
    def _even(self) -> bool:
        p, q = self._powers()
        return p is not None and p == q and p >= 1

    def _powers(self) -> tuple[float | None, float | None]:
        p, q = (
            float(side.p) if isinstance(side, Power) else None for side in (self.first, self.second)
        )
        return p, q


def joint_penalty(B: ArrayLike, first: Penalty, second: Penalty) -> float:
    """Omega~(B) = sum_j of the effective penalty of omega_1 (+) omega_2 at the singular values."""
    d = np.linalg.svd(array(B), compute_uv=False)
    return float(np.sum(effective(Joint(first, second), d)))


def _square_beside_absolute(v: Array) -> Array:
    """The z of (z - 1)^2 + v / z - 1, at most v: the root of 2 (z - 1) z^2 = v."""
    return array(np.minimum(v, root_above_one(lambda z: 2 * (z - 1) * z**2, v)))


def least_split(first: Penalty, second: Penalty, v: Array) -> Array:
    """The z of (11) by search: sides share log v."""
    log = np.log(v)
    share = least_between(lambda t: first(np.exp(t * log)) + second(np.exp((1 - t) * log)), v.shape)
    return array(np.exp(share * log))


def least_from_one(penalty: Callable[[Array], Array], v: Array) -> Array:
    """The z >= 1 that makes penalty(z) + v^2 / z^2 least, where z = 1 gives v^2: of each v one.

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
    values_there = np.stack([objective(t) for t in candidates])
    return array(np.take_along_axis(candidates, values_there.argmin(0)[None], axis=0)[0])


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
