"""How similar images look: multi-scale structural similarity (Wang, Simoncelli and Bovik 2003), by
which Table 5.2 of "Mutual Information Neural Estimation" compares digits.

    l = (2 m_x m_y + C_1) / (m_x^2 + m_y^2 + C_1)     c = (2 s_xy + C_2) / (s_x^2 + s_y^2 + C_2)

with means, variances and covariance in a window around each pixel; the similarity is the product of
the means of c, to the power of its weight, over all scales but the last, and of c l at the last. A
scale has half the pixels of that before. The usual five scales and window of 11 need 160 pixels: 28
have two scales here and a window of 7, with the first two of the five weights over their sum.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.ndimage import correlate1d

from ntkexp.theory.float64 import Array

WEIGHTS = np.array([0.0448, 0.2856])
WEIGHTS /= WEIGHTS.sum()
WINDOW, SPREAD = 7, 1.5
C_1, C_2 = 0.01**2, 0.03**2


def similarity(x: ArrayLike, y: ArrayLike) -> Array:
    """(n,): the similarities of images (n, 28, 28) with pixels in [0, 1], 1 for the same.

    >>> similarity(np.eye(28)[None], np.eye(28)[None])
    array([1.])
    """
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    product = np.ones(len(x))
    for scale, weight in enumerate(WEIGHTS):
        if scale > 0:
            x, y = halved(x), halved(y)
        luminance, structure = parts(x, y)
        last = scale == len(WEIGHTS) - 1
        of_scale = (luminance * structure if last else structure).mean(axis=(1, 2))
        # Of images that are each other's negative: no root of it.
        product *= np.maximum(of_scale, 0) ** weight
    return product


def parts(x: Array, y: Array) -> tuple[Array, Array]:
    """l and c of every window that lies within the images."""
    mean_x, mean_y = windowed(x), windowed(y)
    covariance = windowed(x * y) - mean_x * mean_y
    variances = windowed(x * x) - mean_x**2 + windowed(y * y) - mean_y**2
    luminance = (2 * mean_x * mean_y + C_1) / (mean_x**2 + mean_y**2 + C_1)
    return luminance, (2 * covariance + C_2) / (variances + C_2)


def windowed(images: Array) -> Array:
    """Means by a Gaussian window."""
    reach = WINDOW // 2
    weights = np.exp(-((np.arange(WINDOW) - reach) ** 2) / (2 * SPREAD**2))
    weights /= weights.sum()
    for axis in (1, 2):
        images = correlate1d(images, weights, axis=axis)
    return images[:, reach:-reach, reach:-reach]


def halved(images: Array) -> Array:
    """Means of two by two pixels."""
    n, rows, columns = images.shape
    blocks = images.reshape(n, rows // 2, 2, columns // 2, 2)
    means: Array = blocks.mean(axis=(2, 4))
    return means
