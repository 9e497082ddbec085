"""Centred kernel alignment, equation (7): how much two kernels look alike, in [0, 1]."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ntkexp.theory.centring import CENTRINGS, centre_labels, centred_norm
from ntkexp.theory.float64 import array

# `labels`: the kernel as it is and the labels centred by class. That is how the authors' code draws
# the "uncentred" Figure 12; the paper does not say what it does with the labels there.
ALIGNMENTS = (*CENTRINGS, "labels")


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


def label_ckas(K: ArrayLike, labels: ArrayLike) -> dict[str, float]:
    """CKA (7) of a kernel (n c, n c) with labels (n, c), for each of ALIGNMENTS.

    Since Y_c = H Y and H H = H, Y_c^T K_c Y_c = Y_c^T K Y_c: no centred kernel is formed.
    0 where K_c is zero.

    >>> label_ckas([[2.0, 0.0], [0.0, 2.0]], [[1.0], [-1.0]])["class"]
    1.0
    """
    kernel, targets = array(K), array(labels)
    norms = {kind: centred_norm(kernel, targets.shape[1], kind) for kind in CENTRINGS}
    found = {}
    for kind in CENTRINGS:
        Y = centre_labels(targets, kind)
        product, square = float(Y @ kernel @ Y), float(Y @ Y)
        found[kind] = _ratio(product, norms[kind] * square)
        if kind == "class":
            with_centred_labels = _ratio(product, norms["none"] * square)
    return found | {"labels": with_centred_labels}


def _ratio(product: float, norm: float) -> float:
    return product / norm if norm > 0 else 0.0
