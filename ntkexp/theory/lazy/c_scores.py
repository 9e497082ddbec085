"""Which examples are hard: consistency scores from counts, and their like for kernel regression.

Equation (5.3.2) of George's thesis, after Jiang et al. 2021 (https://arxiv.org/abs/2002.03206):

    C(x, y) = mean over n of  E_{D of n examples without (x, y)} P(f(x; D) = y).

The sizes n are here some ratios of all examples; the expectation is the share of the networks of a
ratio that left the example out and have it right. For kernel regression one inverse takes the place
of n fits (`leave_one_out`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cho_factor, cho_solve

from ntkexp.theory.float64 import Array, array

TENTHS = 10


def tenths_seen(net: int, ratio: int) -> NDArray[np.int64]:
    """The tenths of the examples on which the `net`-th of ten networks of ratio / 10 trains.

    Ten such networks leave every example out 10 - ratio times.

    >>> tenths_seen(8, 3)
    array([8, 9, 0])
    """
    return (net + np.arange(ratio)) % TENTHS


def consistency(right: ArrayLike, left_out: ArrayLike) -> tuple[Array, Array]:
    """Scores and their standard errors, from counts (ratios, examples).

    right     networks of a ratio that left the example out and have it right
    left_out  networks of a ratio that left it out, two or more

    The standard error is that of a mean of shares, sqrt(sum p (1 - p) / (m - 1)) / ratios.

    >>> consistency([[4], [1]], [[4], [2]])
    (array([0.75]), array([0.25]))
    """
    m = array(left_out)
    share = array(right) / m
    variance = share * (1 - share) / (m - 1)
    return share.mean(0), np.sqrt(variance.sum(0)) / len(m)


def leave_one_out(kernel: ArrayLike, targets: ArrayLike, ridge: float) -> Array:
    """f_{-i}(x_i), the prediction for each training example if it were left out.

    With f = K (K + lambda I)^{-1} y on n points, and f_{-i} the same fit on all points but i,

        y_i - f_{-i}(x_i) = ((K + lambda I)^{-1} y)_i / ((K + lambda I)^{-1})_ii

    exactly (Cook 1977, https://doi.org/10.1080/00401706.1977.10489493; Rasmussen and Williams
    2006, equation (5.12)). Targets are (n,) or (n, c), and so are the predictions.

    >>> leave_one_out([[1.0, 0.5], [0.5, 1.0]], [1.0, -1.0], ridge=0.0)
    array([-0.5,  0.5])
    """
    K, y = array(kernel), array(targets)
    inverse = cho_solve(cho_factor(K + ridge * np.eye(len(K)), lower=True), np.eye(len(K)))
    diagonal = np.diagonal(inverse)
    return array(y - (inverse @ y) / (diagonal if y.ndim == 1 else diagonal[:, None]))
