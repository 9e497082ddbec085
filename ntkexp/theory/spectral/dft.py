"""The spectrum of a function on N points z_j = j / N of [0, 1), the end left out.

    c_k = 2/N sum_j f(z_j) exp(-2 pi i k z_j),   k = 0..N/2

so that A sin(2 pi k z + phi) has |c_k| = A at its own k below N/2, and 0 elsewhere.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ntkexp.theory.float64 import Array, array

Coefficients = NDArray[np.complex128]


def grid(points: int) -> Array:
    """(points,): j / points. With the end, 1, an integer frequency would leak into others.

    >>> grid(4).tolist()
    [0.0, 0.25, 0.5, 0.75]
    """
    return np.arange(points) / points


def sines(z: ArrayLike, frequencies: ArrayLike, amplitudes: ArrayLike, phases: ArrayLike) -> Array:
    """lambda(z) = sum_i A_i sin(2 pi k_i z + phi_i) (eq. 8).

    >>> sines([0.25], [1], [2.0], [0.0]).tolist()
    [2.0]
    """
    angles = 2 * np.pi * array(z)[..., None] * array(frequencies) + array(phases)
    return array(np.sin(angles) @ array(amplitudes))


def coefficients(values: ArrayLike) -> Coefficients:
    """(..., N // 2 + 1): c_k of values (..., N) on the grid.

    >>> z = grid(8)
    >>> np.abs(coefficients(sines(z, [2], [3.0], [0.4]))).round(12).tolist()
    [0.0, 0.0, 3.0, 0.0, 0.0]
    """
    f = array(values)
    c: Coefficients = np.fft.rfft(f) * (2 / f.shape[-1])
    return c
