"""Centring of tangent kernels and of labels: one word for two operators, which differ.

Rows are example-major throughout: row i c + y belongs to example i and class y.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from ntkexp.errors import UserError
from ntkexp.theory.float64 import Array, array

CENTRINGS = ("class", "joint", "none")


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
    kernel = array(K)
    size = len(kernel)
    if kernel.shape != (size, size) or size % classes:
        raise ValueError(f"a kernel of shape {kernel.shape} is not square over {classes} classes")
    if kind == "none":
        return kernel.copy()
    groups = _groups(classes, kind)
    rows = kernel.reshape(-1, groups, size)
    rows = (rows - _mean(rows, axis=0)).reshape(size, -1, groups)
    return (rows - _mean(rows, axis=1)).reshape(size, size)


def centre_labels(labels: ArrayLike, kind: str = "class") -> Array:
    """One-hot labels (n, c), centred as the features are, as a vector Y of length n c.

    The label kernel of equation (7) is then K_Y = Y Y^T. With balanced classes both centrings
    subtract 1 / c from every entry.
    """
    one_hot = array(labels)
    if kind == "none":
        return one_hot.ravel()
    rows = one_hot.reshape(-1, _groups(one_hot.shape[1], kind))
    return (rows - _mean(rows, axis=0)).ravel()


def _mean(rows: Array, axis: int) -> Array:
    return array(rows.mean(axis=axis, keepdims=True))


def _groups(classes: int, kind: str) -> int:
    """How many interleaved groups of rows have a mean of their own."""
    if kind not in CENTRINGS:
        raise UserError(f"centring: {kind!r} is not one of {', '.join(CENTRINGS)}")
    return classes if kind == "class" else 1
