"""Mutual information by nearest neighbours (Kraskov, Stögbauer and Grassberger, "Estimating mutual
information", 2004: equation 8, their first estimator)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import cKDTree
from scipy.special import digamma

from ntkexp.theory.float64 import array


def ksg(x: ArrayLike, z: ArrayLike, k: int = 3) -> float:
    """psi(k) + psi(n) - mean of psi(n_x + 1) + psi(n_z + 1), in nats.

    n_x is the number of other points whose x is nearer than the k-th neighbour of the pair, all
    distances being the largest of their coordinates.

    Args:
        x: (n, d_x).
        z: (n, d_z), of the same scale as x: the neighbours of pairs hang on that.
    """
    parts = array(x), array(z)
    pairs = np.hstack(parts)
    radii = np.nextafter(cKDTree(pairs).query(pairs, k=k + 1, p=np.inf)[0][:, k], 0)
    # With the point itself: n_x + 1.
    near = [
        cKDTree(part).query_ball_point(part, radii, p=np.inf, return_length=True) for part in parts
    ]
    return float(digamma(k) + digamma(len(pairs)) - sum(digamma(count).mean() for count in near))
