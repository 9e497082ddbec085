"""The solution of (16), by alternating minimisation: the interpolating B_l of least penalty.

    min over B of  sum_l Omega~_l(B_l)   subject to  r = sum_l <g_l, B_l>.

The paper names no algorithm. Each iteration solves the bilinear problem (4) for one half of its
unknowns: with all M fixed, theta is the min-norm solution for the features M_1 g M_2, and
B = M_1 W M_2; with B fixed, M and W are those of (14) and (15). Neither half raises the objective.
It starts at M = I, so the first B is the min-norm solution of the initial features.

One-sided (omega = (z - 1)^2, M_2 = I) the problem is convex. |z - 1|, and two powers below 4
together, have concave tails: there it may have several minima, and restarts from random M look for
a lower one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve

from ntkexp.theory.adaptive.penalties import Joint, Penalty, effective
from ntkexp.theory.float64 import Array, array


class LayerFeatures(Protocol):
    """The gradients g (n, P, Q) of one layer, in whatever form."""

    @property
    def shape(self) -> tuple[int, int]:
        """(P, Q)."""

    def gram(self, M1: Array, M2: Array) -> Array:
        """(n, n): the inner products of M_1 g M_2."""

    def combined(self, weights: Array, M1: Array, M2: Array) -> Array:
        """(P, Q): sum_i weights_i M_1 g_i M_2."""


@dataclass(frozen=True)
class OuterProducts:
    """g_i = v_i u_i^T, as in a linear layer with inputs u (n, Q) and output gradients v (n, P)."""

    v: Array
    u: Array

    @property
    def shape(self) -> tuple[int, int]:
        return self.v.shape[1], self.u.shape[1]

    def gram(self, M1: Array, M2: Array) -> Array:
        left, right = self.v @ M1, self.u @ M2
        gram = left @ left.T
        gram *= right @ right.T
        return array(gram)

    def combined(self, weights: Array, M1: Array, M2: Array) -> Array:
        return array((M1 @ (self.v.T * weights)) @ (self.u @ M2))


@dataclass(frozen=True)
class Adapted:
    """A solution of (16).

    `objectives` has sum_l Omega~_l(B_l) of every iteration, that of the min-norm solution first;
    `starts` the least value that each start came to.
    """

    B: list[Array]
    M1: list[Array]
    M2: list[Array]
    kernels: list[Array]  # by layer, on the training points
    objectives: list[float]
    starts: list[float]

    @property
    def kernel(self) -> Array:
        return array(np.sum(self.kernels, axis=0))


def adapt(
    layers: Sequence[LayerFeatures],
    r: ArrayLike,
    penalties: Sequence[tuple[Penalty, Penalty]],
    *,
    iterations: int = 300,
    tolerance: float = 1e-10,
    restarts: int = 0,
    seed: int = 0,
    after_each: Callable[[], object] = lambda: None,
) -> Adapted:
    """The least of 1 + `restarts` descents; each ends once it gains less than `tolerance` of it.

    Args:
        r: y - f_0 at the n points.
        penalties: (omega_1, omega_2) of each layer; `Fixed()` keeps a side the identity.
        after_each: called after every iteration. Of thousands of points one takes seconds.
    """
    generator = np.random.default_rng(seed)
    starts_from = [None, *[generator] * restarts]
    descents = [
        _descend(layers, array(r), penalties, start, iterations, tolerance, after_each)
        for start in starts_from
    ]
    best = min(descents, key=lambda descent: descent.objectives[-1])
    starts = [descent.objectives[-1] for descent in descents]
    return Adapted(best.B, best.M1, best.M2, best.kernels, best.objectives, starts)


def _descend(
    layers: Sequence[LayerFeatures],
    r: Array,
    penalties: Sequence[tuple[Penalty, Penalty]],
    generator: np.random.Generator | None,
    iterations: int,
    tolerance: float,
    after_each: Callable[[], object],
) -> Adapted:
    sides = [
        (_start(P, first, generator), _start(Q, second, generator))
        for (P, Q), (first, second) in zip(
            (layer.shape for layer in layers), penalties, strict=True
        )
    ]
    objectives: list[float] = []
    while True:
        B = _interpolating(layers, sides, r)
        objective = 0.0
        sides = []
        for matrix, (first, second) in zip(B, penalties, strict=True):
            M1, M2, least = _adapted(matrix, first, second)
            sides.append((M1, M2))
            objective += least
        objectives.append(objective)
        after_each()
        gained = objectives[-2] - objective if len(objectives) > 1 else np.inf
        if gained <= tolerance * objective or len(objectives) > iterations:
            break
    kernels = [layer.gram(*side) for layer, side in zip(layers, sides, strict=True)]
    return Adapted(B, [a for a, _ in sides], [b for _, b in sides], kernels, objectives, [])


def _interpolating(
    layers: Sequence[LayerFeatures], sides: Sequence[tuple[Array, Array]], r: Array
) -> list[Array]:
    """B_l = M_1 W M_2 with W of least norm: W = sum_i a_i M_1 g_i M_2, and K a = r."""
    # One layer's at a time: of 8,000 points each has 512 MB.
    first, *others = zip(layers, sides, strict=True)
    kernel = first[0].gram(*first[1])
    for layer, side in others:
        kernel += layer.gram(*side)
    weights = solved(kernel, r)
    B = []
    for layer, (M1, M2) in zip(layers, sides, strict=True):
        B.append(array(M1 @ layer.combined(weights, M1, M2) @ M2))
    return B


def solved(kernel: Array, r: Array) -> Array:
    """K^-1 r; of a singular kernel K^+ r, without the directions that are zero to rounding."""
    rounding = len(kernel) * np.finfo(np.float64).eps
    try:
        factor = cho_factor(kernel, lower=True)
        # Rounding may leave a pivot that is zero above zero.
        pivots = np.diagonal(factor[0]) ** 2
        if pivots.min() > rounding * pivots.max():
            return array(cho_solve(factor, r))
    except np.linalg.LinAlgError:
        pass
    eigs, vectors = np.linalg.eigh(kernel)
    kept = eigs > rounding * eigs[-1]
    return array(vectors[:, kept] @ ((vectors[:, kept].T @ r) / eigs[kept]))


def _adapted(B: Array, first: Penalty, second: Penalty) -> tuple[Array, Array, float]:
    """M_1 and M_2 of (14) for B, and Omega~(B)."""
    U, d, Vt = np.linalg.svd(B, full_matrices=False)
    joint = Joint(first, second)
    z1, z2 = joint.split(joint.minimiser(d))
    least = float(np.sum(effective(joint, d)))
    return _stretched(U, z1), _stretched(array(Vt.T), z2), least


def _stretched(basis: Array, s: Array) -> Array:
    """I + sum_j (s_j - 1) u_j u_j^T."""
    return array(np.eye(len(basis)) + (basis * (s - 1)) @ basis.T)


def _start(size: int, penalty: Penalty, generator: np.random.Generator | None) -> Array:
    """The identity, or a random M >= I where the penalty lets M move."""
    moves = bool(np.isfinite(penalty(2.0)))
    if generator is None or not moves:
        return np.eye(size)
    basis = np.linalg.qr(generator.normal(size=(size, size)))[0]
    return _stretched(array(basis), array(np.exp(np.abs(generator.normal(size=size)))))
