"""Rademacher complexity of linear function classes, and the paper's bounds on it.

With |w|_A <= M and K_A the kernel of the rescaled features A^{-1} Phi, equation (61) gives the
supremum in closed form, sup_f sum_i sigma_i f(x_i) = M sqrt(sigma^T K_A sigma), so the empirical
Rademacher complexity needs only an average over signs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ntkexp.theory.float64 import Array, array

LARGEST_ENUMERATION = 20  # examples of which all signs are enumerated


def all_signs(n: int) -> Array:
    """The 2^n vectors of {-1, +1}^n as rows."""
    if not 1 <= n <= LARGEST_ENUMERATION:
        raise ValueError(f"n = {n}: all signs are enumerated for n from 1 to {LARGEST_ENUMERATION}")
    bits = np.arange(2**n)[:, None] >> np.arange(n) & 1
    return array(2.0 * bits - 1.0)


def rescaled_kernel(features: ArrayLike, A: ArrayLike) -> Array:
    """K_A = Phi g_A^{-1} Phi^T with g_A = A A^T, the kernel of the features A^{-1} Phi^T (B.3).

    Its trace is |A^{-1} Phi^T|_F^2; equation (88) prints the norm without its square.
    """
    phi = array(features)
    rescaled = np.linalg.solve(array(A), phi.T)
    return array(rescaled.T @ rescaled)


def supremum(K: ArrayLike, radius: float, signs: ArrayLike) -> Array:
    """sup over |w|_A <= M of sum_i sigma_i f(x_i) = M sqrt(sigma^T K_A sigma) (equation 61)."""
    sigma = np.atleast_2d(array(signs))
    quadratic = np.einsum("si,ij,sj->s", sigma, array(K), sigma)
    return array(radius * np.sqrt(np.maximum(quadratic, 0.0)))


def exact(K: ArrayLike, radius: float) -> float:
    """The empirical Rademacher complexity (8) of a linear class, by all 2^n sign vectors.

    >>> exact([[1.0]], radius=2.0)
    2.0
    """
    kernel = array(K)
    n = len(kernel)
    return float(supremum(kernel, radius, all_signs(n)).mean() / n)


def monte_carlo(
    K: ArrayLike, radius: float, draws: int, generator: np.random.Generator
) -> tuple[float, float]:
    """The complexity estimated by random signs: the mean and its standard error."""
    kernel = array(K)
    n = len(kernel)
    values = supremum(kernel, radius, generator.choice([-1.0, 1.0], size=(draws, n))) / n
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(draws))


def bound(K: ArrayLike, radius: float) -> float:
    """(M / n) |A^{-1} Phi^T|_F = (M / n) sqrt(Tr K_A): equations (10) and (60)."""
    kernel = array(K)
    return float(radius / len(kernel) * np.sqrt(np.trace(kernel)))


def flow_exact(kernels: Sequence[ArrayLike], radii: Sequence[float]) -> float:
    """The empirical Rademacher complexity of a class of learning flows (11).

    The supremum over all updates separates, sum_t m_t sqrt(sigma^T K_{A_t} sigma) (equation 65),
    so the complexity of the flow is the sum of those of its steps.
    """
    return sum(exact(K, m) for K, m in zip(kernels, radii, strict=True))


def flow_bound(kernels: Sequence[ArrayLike], radii: Sequence[float]) -> float:
    """sum_t (m_t / n) sqrt(Tr K_{A_t}): Theorem 2, equations (12), (14) and (64)."""
    return sum(bound(K, m) for K, m in zip(kernels, radii, strict=True))


def lemma_12_bound(K: ArrayLike, classes: int, radius: float, margin: float) -> float:
    """(c / gamma) sum_y R(F_y), equation (70), with every class's R(F_y) exact.

    K is (n c, n c) with example-major rows, so class y's own kernel K^{yy} takes every c-th row.
    """
    kernel = array(K)
    per_class = sum(exact(kernel[y::classes, y::classes], radius) for y in range(classes))
    return classes / margin * per_class


def multiclass_bound(K: ArrayLike, classes: int, radius: float, margin: float) -> float:
    """c^{3/2} M / (gamma n) sqrt(Tr K_A): Theorem 13, equation (78), K_A being (n c, n c).

    In the proof of Lemma 12 the paper writes the indicator of y = y_i as (epsilon + 1/2) / 2; it is
    (epsilon + 1) / 2, and the bound stands.
    """
    kernel = array(K)
    n = len(kernel) // classes
    return float(classes**1.5 * radius / (margin * n) * np.sqrt(np.trace(kernel)))


def ramp(margins: ArrayLike, gamma: float) -> Array:
    """The margin loss phi_gamma of (55): 1 below zero, 0 above gamma, linear in between."""
    return np.clip(1.0 - array(margins) / gamma, 0.0, 1.0)


def finite_class(losses: ArrayLike) -> float:
    """The empirical Rademacher complexity (8) of finitely many functions, `losses` (functions, n).

    Of a subset of a larger class it is a lower bound for the whole class.
    """
    values = array(losses)
    n = values.shape[1]
    return float((all_signs(n) @ values.T).max(axis=1).mean() / n)
