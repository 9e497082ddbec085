"""Which mode is learned when, in a quadratic model and in its linearisation: George's thesis, 5.4.

    f_theta(x) = theta^T x,   theta = 1/2 sum_l w_l^2 v_l,   loss 1/2 sum_i (f(x_i) - y_i)^2,

with X = sum_l sqrt(mu_l) u_l v_l^T (5.4.1), the signs of u_l and v_l such that y_l = u_l^T y >= 0.
Under gradient flow of w each mode moves by itself, towards theta*_l = y_l / sqrt(mu_l), with
y~_l = sqrt(mu_l) y_l:

    non-linear  (5.4.5)  theta_l(t) = theta0 theta* / (theta0 - e^{-2 y~ t} (theta0 - theta*)),
                         theta0 / (1 + 2 mu theta0 t) where theta* = 0
    linearised  (5.4.6)  theta_l(t) = theta* + e^{-2 mu theta0 t} (theta0 - theta*)

The thesis prints (5.4.6) without the 2: with w_l^2 = 2 theta_l the frozen rate is mu w0^2. Its
times and its limit (5.4.7), (5.4.8) inherit this and other slips; here they are as they follow from
the solutions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ntkexp.theory.float64 import Array, array


@dataclass(frozen=True)
class Modes:
    """The modes of training data that have mu > 0, which are all that training outputs see.

    U (n, r) has u_l as columns; `mu` and `y` are (r,).
    """

    U: Array
    mu: Array
    y: Array

    @classmethod
    def of(cls, inputs: ArrayLike, labels: ArrayLike, basis: ArrayLike | None = None) -> Modes:
        """The modes of X (n, d) and y (n,), in the basis that LAPACK finds, or in another one.

        `basis` (n, r) has left singular vectors as columns: where singular values coincide they
        are not unique, and what the non-linear model does depends on them.
        """
        X, y = array(inputs), array(labels)
        if basis is None:
            U, s, _ = np.linalg.svd(X, full_matrices=False)
            kept = s > np.finfo(float).eps * max(X.shape) * s[0]
            U, mu = U[:, kept], s[kept] ** 2
        else:
            U = array(basis)
            mu = np.sum((X.T @ U) ** 2, axis=0)
        along = U.T @ y
        signs = np.where(along < 0, -1.0, 1.0)
        return cls(array(U * signs), array(mu), array(along * signs))

    @property
    def target(self) -> Array:
        """theta*_l = y_l / sqrt(mu_l)."""
        return array(self.y / np.sqrt(self.mu))

    @property
    def correlation(self) -> Array:
        """y~_l = sqrt(mu_l) y_l: the rate of the non-linear model, halved."""
        return array(self.y * np.sqrt(self.mu))

    def outputs(self, theta: ArrayLike) -> Array:
        """(times, n): f on the training data, from theta (times, r)."""
        return array((array(theta) * np.sqrt(self.mu)) @ self.U.T)


def non_linear(modes: Modes, theta0: float, times: ArrayLike) -> Array:
    """theta_l(t), (times, r), from theta_l(0) = theta0 > 0: (5.4.5).

    >>> one = Modes(np.eye(1), np.ones(1), np.ones(1))
    >>> non_linear(one, 1e-3, [0.0, 10.0]).round(3).ravel()
    array([0.001, 1.   ])
    """
    t, target = array(times)[:, None], modes.target
    still = target == 0
    safe = np.where(still, 1.0, target)
    # theta0 (1 - e) + e theta*: no digit is lost where theta* is small.
    exponent = -2 * modes.correlation * t
    moving = theta0 * safe / (safe * np.exp(exponent) - theta0 * np.expm1(exponent))
    return array(np.where(still, theta0 / (1 + 2 * modes.mu * theta0 * t), moving))


def linearised(modes: Modes, theta0: float, times: ArrayLike) -> Array:
    """theta_l(t), (times, r), of the linearisation at theta0: (5.4.6), corrected."""
    t = array(times)[:, None]
    return array(modes.target + np.exp(-2 * modes.mu * theta0 * t) * (theta0 - modes.target))


def reversed_order(mu: ArrayLike) -> tuple[Array, Array]:
    """The training data of Example 1 (5.4.9): x_i = sqrt(mu_i) e_i and
    y_i = mu_{n-i+1} / sqrt(mu_i), mu falling.

    Linear training learns index 1 first, at the rate mu_i; the non-linear model the last, as
    y~_i = mu_{n-i+1}.
    """
    values = array(mu)
    return array(np.diag(np.sqrt(values))), array(values[::-1] / np.sqrt(values))


def label_noise(n: int, q: int, eta: float) -> tuple[Array, Array]:
    """The training data of Example 2 (5.4.10): x_i = kappa_i y_i e_1 + eta e_{i+1}.

    X X^T = y- y-^T + eta^2 Id with y-_i = kappa_i y_i: one mode above n - 1 equal ones.
    """
    y, noisy = _labels(n, q)
    return array(np.column_stack([noisy, eta * np.eye(n)])), y


def spurious(n: int, q: int, eta: float, core: float) -> tuple[Array, Array]:
    """The training data of Example 3 (5.4.12): x_i = kappa_i y_i e_1 + core y_i e_2 + eta e_{i+2}.

    The text calls e_2 the spurious feature; it is e_1, which carries kappa_i y_i, and e_2 is the
    core feature.
    """
    y, noisy = _labels(n, q)
    return array(np.column_stack([noisy, core * y, eta * np.eye(n)])), y


def minority(n: int, q: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """(n,): True for the last q examples, the noisy or the minority ones, with kappa_i = -1."""
    last: np.ndarray[tuple[int], np.dtype[np.bool_]] = np.arange(n) >= n - q
    return last


def noise_basis(n: int, q: int, rotation: ArrayLike | None = None) -> Array:
    """(n, n): left singular vectors of Example 2, u_1 = y- / sqrt(n) first.

    The others share one singular value. Without `rotation` the second is the rest of the labels,
    so that all labels lie in two modes; an orthogonal `rotation` (n - 1, n - 1) mixes them.
    """
    y, noisy = _labels(n, q)
    top = noisy / np.sqrt(n)
    rest = y - (top @ y) * top
    start = np.column_stack([top, rest, np.eye(n)])
    basis = np.linalg.qr(start)[0][:, :n]
    if rotation is not None:
        basis[:, 1:] = basis[:, 1:] @ array(rotation)
    return array(basis)


def _labels(n: int, q: int) -> tuple[Array, Array]:
    """y_i = 1, -1, 1, ..., so that both classes are in both groups, and kappa_i y_i."""
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return array(y), array(np.where(minority(n, q), -y, y))
