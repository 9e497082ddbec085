"""Consistency scores from counts: how often networks that did not see an example have it right.

Equation (5.3.2) of George's thesis, after Jiang et al. 2021 (https://arxiv.org/abs/2002.03206):

    C(x, y) = mean over n of  E_{D of n examples without (x, y)} P(f(x; D) = y).

The sizes n are here some ratios of all examples; the expectation is the share of the networks of a
ratio that left the example out and have it right.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

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


def largest_error(ratios: ArrayLike, networks: int) -> float:
    """The standard error of a score if every p is 1/2, with `networks` of each ratio k / 10.

    >>> round(largest_error(range(1, 10), 55), 3)
    0.04
    """
    left_out = networks / TENTHS * (TENTHS - array(ratios))
    return float(np.sqrt((0.25 / left_out).sum()) / len(left_out))
