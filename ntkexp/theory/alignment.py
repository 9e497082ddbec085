"""Centring of tangent kernels and of labels, and centred kernel alignment (7): how much two kernels
look alike, in [0, 1].

Rows are example-major throughout: row i c + y belongs to example i and class y.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ntkexp.errors import UserError
from ntkexp.theory.float64 import Array, array

CENTRINGS = ("class", "joint", "none")
# `labels`: the kernel as it is and the labels centred by class. That is how the authors' code draws
# the "uncentred" Figure 12; the paper does not say what it does with the labels there.
ALIGNMENTS = (*CENTRINGS, "labels")


def centre(K: ArrayLike, classes: int, kind: str = "class") -> Array:
    """The kernel (n c, n c) of centred tangent features.

    class: Phi <- Phi - E_x Phi, every class's feature minus its own mean over the examples, so
    K_c = (H_n x I_c) K (H_n x I_c) with H_n = I - 1 1^T / n (section 3.1 of the paper).
    joint: K_c = C K C with C = I - 1 1^T / (n c) (the letter of equation 7).
    none: K as it is.

    >>> centre([[2.0, 0.0], [0.0, 2.0]], classes=1)
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    kernel = _square(K, classes)
    if kind == "none":
        return kernel.copy()
    half = _less_its_means(kernel, _groups(classes, kind))
    return _less_its_means(half.T, _groups(classes, kind)).T


def centred_norm(K: ArrayLike, classes: int, kind: str = "class") -> float:
    """|K_c|_F of a symmetric kernel, without forming K_c; 0 where centring takes all away.

    With P the projector onto what centring takes away and H = I - P (Pythagoras, twice):

        |H K H|_F^2 = |K|_F^2 - 2 |P K|_F^2 + |P K P|_F^2,

    and the last two are sums of squares of means of rows.
    """
    kernel = _square(K, classes)
    square = float(np.vdot(kernel, kernel))
    if kind == "none":
        return float(np.sqrt(square))
    groups = _groups(classes, kind)
    members = len(kernel) // groups
    means = _means(kernel, groups)[0]
    grand = _means(means.T, groups)[0]
    taken = 2 * members * float(np.vdot(means, means)) - members**2 * float(np.vdot(grand, grand))
    # Where all is taken away, rounding leaves some 1e-8 of the kernel.
    left = float(np.sqrt(max(square - taken, 0.0)))
    return left if left > 1e-7 * np.sqrt(square) else 0.0


def centre_labels(labels: ArrayLike, kind: str = "class") -> Array:
    """One-hot labels (n, c), centred as the features are, as a vector Y of length n c.

    The label kernel of equation (7) is then K_Y = Y Y^T. With balanced classes both centrings
    subtract 1 / c from every entry.
    """
    one_hot = array(labels)
    if kind == "none":
        return one_hot.ravel()
    return _less_its_means(one_hot.reshape(-1, 1), _groups(one_hot.shape[1], kind)).ravel()


def _less_its_means(rows: Array, groups: int) -> Array:
    """Every row less the mean of its group; rows i, i + groups, i + 2 groups ... are a group."""
    members = rows.reshape(-1, groups, rows.shape[1])
    return (members - _means(rows, groups)).reshape(rows.shape)


def _means(rows: Array, groups: int) -> Array:
    """(1, groups, columns)."""
    return array(rows.reshape(-1, groups, rows.shape[1]).mean(axis=0, keepdims=True))


def _square(K: ArrayLike, classes: int) -> Array:
    kernel = array(K)
    size = len(kernel)
    if kernel.shape != (size, size) or size % classes:
        raise ValueError(f"a kernel of shape {kernel.shape} is not square over {classes} classes")
    return kernel


def _groups(classes: int, kind: str) -> int:
    """The number of interleaved groups of rows that are centred each by itself."""
    if kind not in CENTRINGS:
        raise UserError(f"centring: {kind!r} is not one of {', '.join(CENTRINGS)}")
    return classes if kind == "class" else 1


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
    0 where K_c is zero. With a kernel (n, n), such as the sum over outputs, the labels' kernel is
    Y Y^T of all c columns.

    >>> label_ckas([[2.0, 0.0], [0.0, 2.0]], [[1.0], [-1.0]])["class"]
    1.0
    """
    kernel, targets = array(K), array(labels)
    if len(kernel) == len(targets) and targets.shape[1] > 1:
        return _of_label_kernel(kernel, targets)
    norms = {kind: centred_norm(kernel, targets.shape[1], kind) for kind in CENTRINGS}
    ckas = {}
    for kind in CENTRINGS:
        Y = centre_labels(targets, kind)
        product, square = float(Y @ kernel @ Y), float(Y @ Y)
        ckas[kind] = _ratio(product, norms[kind] * square)
        if kind == "class":
            with_centred_labels = _ratio(product, norms["none"] * square)
    return ckas | {"labels": with_centred_labels}


def _of_label_kernel(kernel: Array, targets: Array) -> dict[str, float]:
    """CKA of a kernel (n, n) with Y Y^T; with one output both centrings are one."""
    centred, Y = centre(kernel, 1), _less_its_means(targets, 1)
    by_class = cka(centred, Y @ Y.T)
    return {
        "class": by_class,
        "joint": by_class,
        "none": cka(kernel, targets @ targets.T),
        "labels": cka(kernel, Y @ Y.T),
    }


def _ratio(product: float, norm: float) -> float:
    return product / norm if norm > 0 else 0.0
