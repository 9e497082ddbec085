"""Bounds of an expected loss by that on n examples, for losses in [0, 1] (chapter 2 of Baratin's
thesis). Each holds with probability 1 - delta over the examples; all have one form,

    L(f) <= L^(f) + sqrt((complexity + log(1 / delta)) / 2n).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ntkexp.theory.float64 import Array, array


def hoeffding(loss: ArrayLike, n: int, delta: float) -> Array:
    """(9), of one predictor that was chosen before the examples were seen; (8) solved for L.

    >>> float(hoeffding(0.1, n=200, delta=np.exp(-1)).round(3))
    0.15
    """
    return occam(loss, 1.0, n, delta)


def finite_class(loss: ArrayLike, size: int, n: int, delta: float) -> Array:
    """(10), of all predictors of a class of this size at once."""
    return occam(loss, 1 / size, n, delta)


def occam(loss: ArrayLike, prior: ArrayLike, n: int, delta: float) -> Array:
    """(11), of all predictors of a countable class at once: `prior` is pi(f), whose sum over the
    class is 1 at most."""
    return array(array(loss) + np.sqrt((-np.log(prior) - np.log(delta)) / (2 * n)))


def pac_bayes(
    loss: ArrayLike, divergence: ArrayLike, n: int, delta: float, *, printed: bool = False
) -> Array:
    """(15), of the expected loss under every distribution Q of predictors at once.

    What is proved has ln(2 sqrt(n) / delta) where the text prints log(1 / delta) (Maurer, "A note
    on the PAC Bayesian theorem", 2004).

    Args:
        loss: the loss on the examples, mean under Q.
        divergence: KL(Q || Q_0) from a prior that was chosen before the examples were seen.
        printed: the formula as printed, which is no theorem.
    """
    price = -np.log(delta) + (0.0 if printed else np.log(2 * np.sqrt(n)))
    return array(array(loss) + np.sqrt((array(divergence) + price) / (2 * n)))


def kl_of_choices(q: ArrayLike, prior: ArrayLike) -> Array:
    """KL(Q || Q_0) of distributions over finitely many predictors, along the last axis.

    >>> kl_of_choices([[1.0, 0.0], [0.5, 0.5]], [0.5, 0.5]).round(3).tolist()
    [0.693, 0.0]
    """
    weights = array(q)
    ratio = np.log(np.where(weights > 0, weights / array(prior), 1.0))
    return array((weights * ratio).sum(-1))
