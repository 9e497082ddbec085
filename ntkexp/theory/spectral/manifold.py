"""Functions on a closed curve in the plane (section 4 of the chapter, eqs. 13 and 14).

    gamma_L(z) = (1 + sin(2 pi L z) / 2) (cos 2 pi z, sin 2 pi z),   z in [0, 1)

A function f of the plane, restricted to a curve, has the spectrum

    (f o gamma)~(l) = (2 pi)^-2 int f~(k) P_gamma(l, k) dk,
    P_gamma(l, k) = int_0^1 exp(i (k gamma(z) - l z)) dz.

The factor (2 pi)^-2 is missing in the text. P_gamma is negligible where l > |k| max |gamma'|: the
faster the curve runs, the higher the frequencies on it that a low one in the plane can have.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ntkexp.theory.float64 import Array, array


def petals(z: ArrayLike, L: int) -> Array:
    """(..., 2): gamma_L(z), the unit circle for L = 0.

    >>> petals([0.0], 4).tolist()
    [[1.0, 0.0]]
    """
    angle = 2 * np.pi * array(z)
    radius = 1 + np.sin(L * angle) / 2
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)


def speed(z: ArrayLike, L: int) -> Array:
    """|gamma_L'(z)| / 2 pi: 1 on the circle."""
    angle = 2 * np.pi * array(z)
    return array(np.hypot(1 + np.sin(L * angle) / 2, L * np.cos(L * angle) / 2))


def overlap(k: ArrayLike, curve: ArrayLike) -> Array:
    """(..., N // 2 + 1): |P_gamma(2 pi n, k)| for n = 0..N/2, of a curve sampled at z = j / N.

    `k` are angular frequencies (..., 2) of the plane. The larger of n and -n.
    """
    waves = np.exp(1j * array(k) @ array(curve).T)
    magnitudes = np.abs(np.fft.fft(waves) / waves.shape[-1])
    half = waves.shape[-1] // 2 + 1
    mirrored = np.roll(magnitudes[..., ::-1], 1, axis=-1)
    return array(np.maximum(magnitudes, mirrored)[..., :half])


def lattice(side: int, half_width: float) -> Array:
    """(side * side, 2) points (x, y) of [-a, a)^2, row by row of equal y; the far ends are left
    out, as a discrete Fourier transform wants it.

    >>> lattice(2, 1.0).tolist()
    [[-1.0, -1.0], [0.0, -1.0], [-1.0, 0.0], [0.0, 0.0]]
    """
    line = half_width * (2 * np.arange(side) / side - 1)
    y, x = np.meshgrid(line, line, indexing="ij")
    return np.stack([x.ravel(), y.ravel()], axis=1)


def radial_spectrum(values: ArrayLike) -> Array:
    """zeta(k) = k int |f~(k, phi)| dphi for k = 1, 2, ..., N/2 - 1 periods, of a map (N, N).

    The sum of |f~| over the ring of frequencies nearest to k; f~ is the mean of
    f exp(-2 pi i k x) over the map.
    """
    f = array(values)
    size = len(f)
    frequencies = np.fft.fftfreq(size, 1 / size)
    radius = np.hypot(*np.meshgrid(frequencies, frequencies)).round().astype(int)
    sums = np.bincount(radius.ravel(), np.abs(np.fft.fft2(f)).ravel() / size**2)
    return array(sums[1 : size // 2])
