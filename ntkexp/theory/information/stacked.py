"""Stacked MNIST: three digits, each in a channel of its own, so 1,000 modes (Table 5.1 of "Mutual
Information Neural Estimation", after Srivastava et al. 2017, https://arxiv.org/abs/1705.07761).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import rel_entr

DIGITS, CHANNELS = 10, 3
MODES = DIGITS**CHANNELS


def counts(digits: ArrayLike) -> np.ndarray:
    """(1000,): how many samples there are of each mode; digits (n, 3) are those of their channels.

    >>> counts([[0, 1, 2], [9, 9, 9], [9, 9, 9]])[[12, 999]].tolist()
    [1, 2]
    """
    return np.bincount(np.asarray(digits) @ [100, 10, 1], minlength=MODES)


def captured(digits: ArrayLike) -> int:
    """Modes with a sample at least."""
    return int((counts(digits) > 0).sum())


def divergence(digits: ArrayLike, chances: ArrayLike) -> float:
    """KL(samples || data) in nats, where the data's digits are independent with chances (10,).

    Of n samples of the data themselves it is 999 / 2n on average, .019 of 26,000.
    """
    of_digit = np.asarray(chances, np.float64)
    expected = np.einsum("i,j,k->ijk", of_digit, of_digit, of_digit).ravel()
    found = counts(digits)
    return float(rel_entr(found / found.sum(), expected).sum())
