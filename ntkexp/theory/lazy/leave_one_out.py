"""The prediction of kernel regression for each training example if it were left out.

With f = K (K + lambda I)^{-1} y on n points, and f_{-i} the same fit on all points but i,

    y_i - f_{-i}(x_i) = ((K + lambda I)^{-1} y)_i / ((K + lambda I)^{-1})_ii

exactly (Cook 1977, https://doi.org/10.1080/00401706.1977.10489493; Rasmussen and Williams 2006,
equation (5.12)): one inverse in place of n fits. A C-score (5.3.2 of George's thesis) is the mean
accuracy on an example of networks that were trained without it; this is ours, for their kernel.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve

from ntkexp.theory.float64 import Array, array


def leave_one_out(kernel: ArrayLike, targets: ArrayLike, ridge: float) -> Array:
    """f_{-i}(x_i) for each i: targets (n,) or (n, c), and so the outcome.

    >>> leave_one_out([[1.0, 0.5], [0.5, 1.0]], [1.0, -1.0], ridge=0.0)
    array([-0.5,  0.5])
    """
    K, y = array(kernel), array(targets)
    inverse = cho_solve(cho_factor(K + ridge * np.eye(len(K)), lower=True), np.eye(len(K)))
    diagonal = np.diagonal(inverse)
    return array(y - (inverse @ y) / (diagonal if y.ndim == 1 else diagonal[:, None]))


def margins(outputs: ArrayLike, labels: ArrayLike) -> Array:
    """(n,): the output (n, c) of an example's label less the largest of the others.

    >>> margins([[0.2, 0.5, 0.1]], [0])
    array([-0.3])
    """
    f, y = array(outputs), np.asarray(labels)
    own = np.take_along_axis(f, y[:, None], axis=1)[:, 0]
    others = f.copy()
    np.put_along_axis(others, y[:, None], -np.inf, axis=1)
    return array(own - others.max(axis=1))
