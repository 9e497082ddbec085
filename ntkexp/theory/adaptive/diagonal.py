"""The model whose M is diagonal, of appendix A.1: every parameter has a scale of its own.

What it pays for beta = M (theta - theta_0) is sum_j omega~(beta_j), which induces sparsity, though
not exact zeros, since omega~ is quadratic near 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ntkexp.theory.adaptive.penalties import Penalty, effective
from ntkexp.theory.adaptive.solver import OuterProducts, solved
from ntkexp.theory.float64 import Array, array

# Numbers of a block of features that are made at a time.
BLOCK = 4_000_000


@dataclass(frozen=True)
class Layer:
    """g_i = v_i u_i^T, of which a few rows are made at a time."""

    products: OuterProducts

    @property
    def shape(self) -> tuple[int, ...]:
        return self.products.shape

    def gram(self, m: Array) -> Array:
        n = len(self.products.u)
        gram = np.zeros((n, n))
        for rows in self._blocks():
            scaled = self.products.v[:, rows, None] * (self.products.u[:, None, :] * m[rows])
            flat = scaled.reshape(n, -1)
            gram += flat @ flat.T
        return array(gram)

    def combined(self, weights: Array) -> Array:
        return array((self.products.v.T * weights) @ self.products.u)

    def _blocks(self) -> Iterator[slice]:
        rows, columns = self.products.shape
        step = max(1, BLOCK // (len(self.products.u) * columns))
        for first in range(0, rows, step):
            yield slice(first, first + step)


@dataclass(frozen=True)
class Diagonal:
    """A solution of (5) for diagonal M: beta and m by group, and the penalty of every iteration,
    that of the least-norm solution first."""

    beta: list[Array]
    m: list[Array]
    kernel: Array  # of the features times m, on the training points
    objectives: list[float]


def adapt_diagonal(
    groups: Sequence[Layer],
    r: ArrayLike,
    penalty: Penalty,
    *,
    iterations: int = 500,
    tolerance: float = 1e-14,
) -> Diagonal:
    """By alternating minimisation, until an iteration gains less than the share `tolerance`.

    With M fixed, theta - theta_0 = (J M)^+ r; with beta = M (theta - theta_0) fixed, m_j is the z
    of omega~(beta_j). For (z - 1)^2 the problem is convex.
    """
    residual, objectives = array(r), list[float]()
    m = [np.ones(group.shape) for group in groups]
    kernel = _kernel(groups, m)
    while True:
        weights = solved(kernel, residual)
        beta = [
            array(scale**2 * group.combined(weights))
            for group, scale in zip(groups, m, strict=True)
        ]
        m = [penalty.minimiser(np.abs(group)) for group in beta]
        kernel = _kernel(groups, m)
        objectives.append(sum(diagonal_penalty(group, penalty) for group in beta))
        gained = objectives[-2] - objectives[-1] if len(objectives) > 1 else np.inf
        if gained <= tolerance * objectives[-1] or len(objectives) >= iterations:
            return Diagonal(beta, m, kernel, objectives)


def _kernel(groups: Sequence[Layer], m: Sequence[Array]) -> Array:
    return array(sum(group.gram(scale) for group, scale in zip(groups, m, strict=True)))


def diagonal_penalty(beta: ArrayLike, penalty: Penalty) -> float:
    """Omega~(beta) = sum_j omega~(beta_j) for diagonal M: appendix A.1, equation (21)."""
    return float(np.sum(effective(penalty, np.abs(array(beta)))))


def effective_entries(beta: ArrayLike) -> float:
    """(sum b^2)^2 / sum b^4: how many entries matter, 0 where all are zero.

    >>> effective_entries([3.0, 3.0, 0.0])
    2.0
    """
    squares = array(beta).ravel() ** 2
    return float(np.sum(squares) ** 2 / np.sum(squares**2)) if squares.any() else 0.0


def share_that_holds(share: float, beta: ArrayLike) -> float:
    """The share of the entries, the largest first, that hold `share` of sum b^2.

    >>> share_that_holds(0.9, [3.0, 3.0, 0.1, 0.0])
    0.5
    """
    squares = np.sort(array(beta).ravel() ** 2)[::-1]
    total = np.cumsum(squares)
    return float((np.searchsorted(total, share * total[-1]) + 1) / len(squares))
