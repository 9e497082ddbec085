"""Energy concentration: how much of the labels lies in the leading eigenvectors of a kernel.

    EC = |Phi y| / |y|,

Phi the K leading unit eigenvectors as rows (Ortiz-Jimenez et al. 2021, section 4.2). It is not
squared. Random labels have sqrt(K / n) in the mean of squares.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ntkexp.theory.float64 import array


def energy_concentration(vectors: ArrayLike, labels: ArrayLike) -> float:
    """EC of labels (n,) in the span of orthonormal columns (n, K).

    >>> energy_concentration([[1, 0], [0, 1], [0, 0]], [3, 0, 4])
    0.6
    """
    phi, y = array(vectors), array(labels)
    return float(np.linalg.norm(phi.T @ y) / np.linalg.norm(y))
