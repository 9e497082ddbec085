"""The training data of Examples 1 to 3 of George's thesis, section 5.4.4.

Of Example 3 the text calls e_2 the spurious feature; it is e_1, which carries kappa_i y_i, and e_2
is the core feature. kappa_i = -1 for the last q examples, the noisy or the minority ones; labels
alternate, so that both classes are in both groups.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ntkexp.theory.float64 import Array, array


def reversed_order(mu: ArrayLike) -> tuple[Array, Array]:
    """Example 1 (5.4.9): x_i = sqrt(mu_i) e_i and y_i = mu_{n-i+1} / sqrt(mu_i), mu falling.

    Linear training learns index 1 first, at the rate mu_i; the non-linear model the last, as
    y~_i = mu_{n-i+1}.
    """
    values = array(mu)
    return array(np.diag(np.sqrt(values))), array(values[::-1] / np.sqrt(values))


def label_noise(n: int, q: int, eta: float) -> tuple[Array, Array]:
    """Example 2 (5.4.10): x_i = kappa_i y_i e_1 + eta e_{i+1}.

    X X^T = y- y-^T + eta^2 Id with y-_i = kappa_i y_i: one mode above n - 1 equal ones.
    """
    y, noisy = _labels(n, q)
    return array(np.column_stack([noisy, eta * np.eye(n)])), y


def spurious(n: int, q: int, eta: float, core: float) -> tuple[Array, Array]:
    """Example 3 (5.4.12): x_i = kappa_i y_i e_1 + core y_i e_2 + eta e_{i+2}."""
    y, noisy = _labels(n, q)
    return array(np.column_stack([noisy, core * y, eta * np.eye(n)])), y


def minority(n: int, q: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """(n,): the q examples with kappa_i = -1."""
    found: np.ndarray[tuple[int], np.dtype[np.bool_]] = np.arange(n) >= n - q
    return found


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
    """y_i = 1, -1, 1, ... and kappa_i y_i."""
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return array(y), array(np.where(minority(n, q), -y, y))
