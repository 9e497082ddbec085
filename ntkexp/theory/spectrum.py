"""Numbers of a kernel's spectrum: its statistics (section 3.2 of the paper), and the step of
gradient descent in each mode (4).

Eigenvalues are float64, non-increasing and clamped at zero.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from ntkexp.theory.float64 import Array, array

ROUNDING = float(np.finfo(np.float64).eps)


def eigenvalues(K: ArrayLike) -> Array:
    """Eigenvalues lambda_1 >= ... >= lambda_r >= 0 of the symmetric part of K.

    A kernel is positive semi-definite; what rounding leaves below zero is set to zero.

    >>> eigenvalues([[1.0, 1.0], [1.0, 1.0]]).round(12)
    array([2., 0.])
    """
    kernel = array(K)
    values = array(linalg.eigvalsh((kernel + kernel.T) / 2))
    return np.maximum(values[::-1], 0.0)


def eigenpairs(K: ArrayLike) -> tuple[Array, Array]:
    """Eigenvalues as in `eigenvalues`, and the eigenvectors u_j as columns in the same order."""
    kernel = array(K)
    values, vectors = linalg.eigh((kernel + kernel.T) / 2)
    return np.maximum(values[::-1], 0.0), vectors[:, ::-1]


def positive(eigs: ArrayLike) -> Array:
    """The eigenvalues above r eps lambda_max, r how many there are, eps that of float64.

    A centred kernel has exact zeros, which rounding turns into numbers of size eps lambda_max.
    Kernels are centred in float64, whatever they were formed in, so this eps is the right one: that
    of float32 would also take away eigenvalues that are small and real.
    """
    values = array(eigs)
    return array(values[values > len(values) * ROUNDING * values.max(initial=0.0)])


def effective_rank(eigs: ArrayLike) -> float:
    """exp(-sum_j mu_j log mu_j) with mu_j = lambda_j / sum lambda (section 3.2).

    Roy and Vetterli (2007). Between 1 (one direction) and the rank (a flat spectrum); 0 for the
    zero kernel.

    >>> round(effective_rank([1.0, 1.0, 1.0, 0.0]), 12)
    3.0
    """
    values = positive(eigs)
    if not len(values):
        return 0.0
    shares = values / values.sum()
    return float(np.exp(-np.sum(shares * np.log(shares))))


def trace_ratios(eigs: ArrayLike) -> Array:
    """T_k = (lambda_1 + ... + lambda_k) / trace for k = 1 ... r; exactly k terms.

    >>> trace_ratios([3.0, 1.0])
    array([0.75, 1.  ])
    """
    values = array(eigs)
    sums = np.cumsum(values)
    return sums / sums[-1] if sums[-1] > 0 else np.zeros_like(values)


def mode_updates(eigs: ArrayLike, U: ArrayLike, loss_gradient: ArrayLike, eta: float) -> Array:
    """df_j = -eta lambda_j (u_j^T grad_f L): Lemma 1 (4), in its sampled form (48).

    U holds the unit eigenvectors u_j of the kernel matrix as columns; `loss_gradient` is the
    gradient of L with respect to the n c outputs. Exact to first order in eta.
    """
    gradient = array(loss_gradient)
    projections = array(U).T @ gradient
    return -eta * array(eigs) * projections
