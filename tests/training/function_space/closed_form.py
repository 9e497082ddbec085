"""Gradient descent with squared error on the full batch under a frozen kernel, in closed form.

    L = |f - y|^2 / 2,   f_k = f_0 + K a_k,   a_{k+1} = a_k - eta v_{k+1},
    v_{k+1} = m v_k + (f_k - y),

a 2 x 2 recurrence in each eigenvector of K (Jacot et al. 2018; Lee et al. 2019,
https://arxiv.org/abs/1902.06720). A mean over n examples divides eta by n. The outputs on other
points are f_0* + K* a_k, K* the kernel of these with the training points.
"""

from __future__ import annotations

import numpy as np

from ntkexp.theory.float64 import Array


def descended(K: Array, residual: Array, steps: int, *, eta: float, momentum: float) -> Array:
    """(N,): the coefficients a after so many steps from rest; `residual` is f_0 - y.

    In a mode, with e = f - y and w = eta v along it,

        w' = m w + eta e,   e' = e - mu w',   (-a)' = -a + w'.

    The third line adds up w, which needs no division by a small mu.
    """
    mu, vectors = np.linalg.eigh(K)
    zero, one = np.zeros_like(mu), np.ones_like(mu)
    matrix = np.array(
        [
            [one - eta * mu, -momentum * mu, zero],
            [eta * one, momentum * one, zero],
            [eta * one, momentum * one, one],
        ]
    ).transpose(2, 0, 1)
    start = np.stack([vectors.T @ residual, zero, zero], axis=1)[:, :, None]
    moved: Array = np.linalg.matrix_power(matrix, steps) @ start
    return vectors @ -moved[:, 2, 0]
