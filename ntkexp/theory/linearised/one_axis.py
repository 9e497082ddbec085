"""The fit of a kernel's change along one axis, that of its task.

With V the first eigenfunctions, A_t = V^T K_t V and c = V^T y for the labels y of the task,

    A_T = a A_0 + b c c^T

by least squares, and R^2 = 1 - |A_T - a A_0 - b c c^T|^2 / |A_T|^2 in Frobenius norms. With b = 0
it says what a mere factor explains. Ours, after section 4.2 of Ortiz-Jimenez et al. 2021: "a single
functional axis".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ntkexp.theory.float64 import array


class Fit(NamedTuple):
    """The least-squares factors of the first kernel and of the axis, and what they explain."""

    scale: float
    axis: float
    r_squared: float


def one_axis(last: ArrayLike, first: ArrayLike, axis: ArrayLike | None = None) -> Fit:
    """The fit of A_T by A_0 and, where one is given, the axis c.

    >>> fit = one_axis([[5, 1], [1, 3]], [[2, 0], [0, 1]], [1, 1])      # 2 A_0 + c c^T
    >>> round(fit.scale, 6), round(fit.axis, 6), round(fit.r_squared, 6)
    (2.0, 1.0, 1.0)
    """
    target, start = array(last), array(first)
    columns = [start.ravel()]
    if axis is not None:
        c = array(axis)
        columns.append(np.outer(c, c).ravel())
    design = np.stack(columns, 1)
    # Columns of one length: an axis of labels and a kernel have other units.
    lengths = np.linalg.norm(design, axis=0)
    factors = np.linalg.lstsq(design / lengths, target.ravel(), rcond=None)[0] / lengths
    residual = target.ravel() - design @ factors
    r_squared = 1 - float(residual @ residual) / float(target.ravel() @ target.ravel())
    return Fit(float(factors[0]), float(factors[1]) if axis is not None else 0.0, r_squared)
