"""Centred kernel alignment, equation (7): how much two kernels look alike, in [0, 1]."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ntkexp.theory.float64 import array


def cka(K: ArrayLike, L: ArrayLike) -> float:
    """CKA(K, L) = Tr[K_c L_c] / (|K_c|_F |L_c|_F), for kernels that are centred already.

    Invariant to the scale of either kernel; 0 when one of them is zero.
    """
    first, second = array(K), array(L)
    norms = np.linalg.norm(first) * np.linalg.norm(second)
    return float(np.sum(first * second) / norms) if norms > 0 else 0.0


def label_cka(K_centred: ArrayLike, Y_centred: ArrayLike) -> float:
    """CKA of K_c with K_Y = Y_c Y_c^T, which has rank one: Y_c^T K_c Y_c / (|K_c|_F |Y_c|^2).

    >>> label_cka([[1.0, -1.0], [-1.0, 1.0]], [0.5, -0.5])
    1.0
    """
    kernel = array(K_centred)
    labels = array(Y_centred).ravel()
    norms = np.linalg.norm(kernel) * (labels @ labels)
    return float(labels @ kernel @ labels / norms) if norms > 0 else 0.0
