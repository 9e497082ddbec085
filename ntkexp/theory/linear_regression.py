"""Linear regression by gradient descent, mode by mode: appendix A.5.2.

L = |f_w - y|^2 / 2 and Phi = sum_j sqrt(lambda_j) u_j v_j^T; A.5.2 prints this SVD without the
square root, with which lambda_j would not be an eigenvalue of K = Phi Phi^T.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ntkexp.theory.float64 import Array, array


def min_norm_solution(features: ArrayLike, y: ArrayLike) -> Array:
    """w* = Phi^T K^{-1} y, the least of the interpolating weights (81).

    With more examples than features it is the least-squares solution of least norm.
    """
    phi, target = array(features), array(y)
    return array(np.linalg.lstsq(phi, target, rcond=None)[0])


def iterate(
    kernel_to_train: ArrayLike, f0: ArrayLike, f_star: ArrayLike, eta: float, t: int
) -> Array:
    """f_t = f* + (Id - eta K)^t (f_0 - f*): Proposition 7, equation (49).

    (K f)(x) = sum_i k(x, x_i) f(x_i) sums over the n training points, so functions are given by
    their values on the training points followed by any others, and `kernel_to_train` is
    (points, n). f* interpolates the labels (or fits them best).
    """
    to_train = array(kernel_to_train)
    start, limit = array(f0), array(f_star)
    difference = start - limit
    for _ in range(t):
        difference = difference - eta * to_train @ difference[: to_train.shape[1]]
    return limit + difference


def mode_coefficients(
    f0: ArrayLike, f_star: ArrayLike, eigs: ArrayLike, eta: float, t: ArrayLike
) -> Array:
    """f_jt = f*_j + (1 - eta lambda_j)^t (f_j0 - f*_j): Proposition 9, equation (51).

    Returns (times, modes). The proof of Lemma 8 prints k(x, x_i) = sum_j u_j(x) u_j(x_i); each term
    carries its lambda_j, as (29) has it.

    >>> mode_coefficients([0.0], [1.0], [1.0], eta=0.5, t=[0, 1, 2])
    array([[0.  ],
           [0.5 ],
           [0.75]])
    """
    start, limit, lam = (array(x) for x in (f0, f_star, eigs))
    decay = (1.0 - eta * lam) ** array(t)[:, None]
    return limit + decay * (start - limit)


def time_constants(eigs: ArrayLike) -> Array:
    """tau_j = -1 / log(1 - lambda_j / lambda_1), in iterations, at eta = 1 / lambda_1.

    f_jt - f*_j = (1 - lambda_j / lambda_1)^t (f_j0 - f*_j) = exp(-t / tau_j) (f_j0 - f*_j). The
    paper prints -log(1 - lambda_j / lambda_1), which is the inverse: it would make the lowest modes
    the fastest. The top mode is learned in one iteration (tau = 0), a zero one never (infinity).
    """
    lam = array(eigs)
    with np.errstate(divide="ignore"):
        rates = -np.log1p(-lam / lam.max())
        return array(1.0 / rates)
