"""Numbers of an adapted kernel: cosines, fits by other kernels, shared directions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ntkexp.theory.float64 import Array, array


def cosine(first: ArrayLike, second: ArrayLike) -> float:
    """<K, K'>_F / (|K|_F |K'|_F), not centred (Figure 1); not a number where one
    of them is zero or not finite.

    >>> cosine([[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]])
    0.7071067811865475
    """
    a, b = array(first), array(second)
    norms = float(np.linalg.norm(a)) * float(np.linalg.norm(b))
    return float(np.vdot(a, b)) / norms if 0 < norms < math.inf else math.nan


def norm_ratio(first: ArrayLike, second: ArrayLike) -> float:
    """|K|_F / |K'|_F; not a number where K' is zero.

    >>> norm_ratio([3.0, 4.0], [5.0])
    1.0
    """
    norm = float(np.linalg.norm(array(second)))
    return float(np.linalg.norm(array(first))) / norm if norm > 0 else math.nan


def label_kernel(outputs: ArrayLike) -> Array:
    """r r^T of vectors r(x), (n, c) or (n,): rows in the order of a kernel's, example by example.

    r = f - f_0 in equation (9).
    """
    r = array(outputs).ravel()
    return array(np.outer(r, r))


@dataclass(frozen=True)
class Fit:
    """A least-squares fit of a kernel by others: coefficients by name, and the share explained.

    R^2 = 1 - |K - fit|_F^2 / |K - mean(K)|_F^2, the mean over all entries; not a number where all
    entries of K are equal.
    """

    coefficients: Mapping[str, float]
    r2: float
    remainder: Array


def fit(kernel: ArrayLike, kernels: Mapping[str, ArrayLike]) -> Fit:
    """K = sum_k c_k K_k + remainder, of least |remainder|_F; the c_k may have any sign.

    Of a kernel that is not finite, as after weights so large that it overflows, no number is one.
    """
    K = array(kernel)
    if not np.isfinite(K).all():
        return Fit(dict.fromkeys(kernels, math.nan), math.nan, np.full_like(K, math.nan))
    columns = np.stack([array(matrix).ravel() for matrix in kernels.values()], axis=1)
    coefficients = np.linalg.lstsq(columns, K.ravel(), rcond=None)[0]
    remainder = K - (columns @ coefficients).reshape(K.shape)
    spread = float(np.sum((K - K.mean()) ** 2))
    r2 = 1.0 - float(np.sum(remainder**2)) / spread if spread > 0 else math.nan
    return Fit(dict(zip(kernels, map(float, coefficients), strict=True)), r2, array(remainder))


def sum_cosine(with_first: float, with_second: float, between: float, weight: float) -> float:
    """The cosine of K with A / |A| + weight B / |B|, from those of K with A, of K with B and of A
    with B.

    >>> round(sum_cosine(0.8, 0.6, 0.0, 0.75), 12)
    1.0
    """
    return (with_first + weight * with_second) / math.sqrt(1 + 2 * weight * between + weight**2)


def nearest_cosine(with_first: float, with_second: float, between: float) -> float:
    """The cosine of K with its least-squares fit a A + b B, from those of K with A, of K with B and
    of A with B.

    >>> round(nearest_cosine(0.8, 0.6, 0.0), 12)
    1.0
    """
    square = with_first**2 + with_second**2 - 2 * with_first * with_second * between
    return math.sqrt(square / (1 - between**2))


def principal_directions(change: ArrayLike, count: int) -> Array:
    """The `count` eigenvectors of a symmetric matrix with the largest |eigenvalue|, as columns."""
    eigs, vectors = np.linalg.eigh(array(change))
    order = np.argsort(-np.abs(eigs), kind="stable")[:count]
    return array(vectors[:, order])


def principal_cosines(first: ArrayLike, second: ArrayLike) -> Array:
    """Cosines of the principal angles between the spans of orthonormal columns, falling."""
    return array(np.minimum(np.linalg.svd(array(first).T @ array(second), compute_uv=False), 1.0))


def fifth_means(values: ArrayLike, size: ArrayLike) -> tuple[float, float]:
    """The means of `values` over the fifth with the least `size` and over that with the largest.

    >>> fifth_means([5.0, 1.0, 1.0, 1.0, 2.0], [0.0, 1.0, 2.0, 3.0, 4.0])
    (5.0, 2.0)
    """
    order = np.argsort(array(size), kind="stable")
    sorted_values = array(values)[order]
    fifth = max(1, len(order) // 5)
    return float(sorted_values[:fifth].mean()), float(sorted_values[-fifth:].mean())


def effective_rank(singular_values: ArrayLike) -> float:
    """(sum s)^2 / sum s^2: r for r equal singular values, 0 where all are zero.

    >>> effective_rank([3.0, 3.0, 0.0])
    2.0
    """
    s = array(singular_values)
    return float(np.sum(s) ** 2 / np.sum(s**2)) if s.any() else 0.0


def correlation(first: ArrayLike, second: ArrayLike) -> float:
    """Pearson's correlation; not a number where one of the two does not vary."""
    a, b = (array(x).ravel() - array(x).mean() for x in (first, second))
    scale = np.linalg.norm(a) * np.linalg.norm(b)
    return float(a @ b / scale) if scale > 0 else float("nan")


def ranks(values: ArrayLike) -> Array:
    """Positions in rising order, for Spearman's correlation of distinct values."""
    return array(np.argsort(np.argsort(array(values).ravel(), kind="stable"), kind="stable"))
