"""The generalised spectrum of appendix A.1.4: coefficients along a Gaussian kernel's eigenvectors.

    k(x, y) = exp(-|x - y|^2 / sigma^2),   K = V Lambda V^T,   f~[n] = f . v_n

without a factor 2, the largest eigenvalue first. An eigenvector's largest entry is positive.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import pdist

from ntkexp.theory.float64 import Array, array


def gaussian_kernel(x: ArrayLike, sigma: float) -> Array:
    """(n, n) of points (n, d).

    >>> gaussian_kernel([[0.0], [1.0]], 1.0)[0].round(4).tolist()
    [1.0, 0.3679]
    """
    points = array(x)
    squares = (points**2).sum(1)
    distances = squares[:, None] + squares - 2 * points @ points.T
    return array(np.exp(-np.maximum(distances, 0) / sigma**2))


def eigenvectors(kernel: ArrayLike) -> tuple[Array, Array]:
    """Eigenvalues (n,), falling, and eigenvectors as columns (n, n)."""
    values, vectors = np.linalg.eigh(array(kernel))
    values, vectors = values[::-1], vectors[:, ::-1]
    peaks = np.abs(vectors).argmax(axis=0)
    return values, vectors * np.sign(vectors[peaks, np.arange(len(peaks))])


def basis(x: ArrayLike, width: float) -> Array:
    """Eigenvectors as columns, sigma being `width` times the median distance of two points."""
    points = array(x)
    median = float(np.median(pdist(points)))
    return eigenvectors(gaussian_kernel(points, width * median))[1]
