"""Margins of a classifier and what is said of their distribution."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ntkexp.errors import UserError
from ntkexp.theory.float64 import Array, array

PERCENTILE = 5.0
QUANTILES = (0.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 100.0)


def margins(outputs: ArrayLike, labels: ArrayLike) -> Array:
    """mu(f(x), y) of equation (54), one an example.

    Outputs (m, c), labels 0 ... c - 1: f(x)[y] - max_{y' != y} f(x)[y'].
    Outputs (m,) or (m, 1), labels -1 or 1: y f(x).

    >>> margins([[2.0, 0.5, 1.0], [0.0, 3.0, 1.0]], [0, 2])
    array([ 1., -2.])
    """
    scores, classes = array(outputs), np.asarray(labels)
    if scores.ndim == 1 or scores.shape[1] == 1:
        return array(scores.ravel() * classes)
    rows = np.arange(len(scores))
    others = scores.copy()
    others[rows, classes] = -np.inf
    return array(scores[rows, classes] - others.max(axis=1))


def margin_percentile(values: ArrayLike, percentile: float = PERCENTILE) -> float:
    """gamma, the 5th percentile of the training margins."""
    return float(np.percentile(array(values), percentile))


def distribution(values: ArrayLike) -> dict[str, float]:
    """Mean, standard deviation and quantiles q0 ... q100 of the margins."""
    sample = array(values)
    quantiles = np.percentile(sample, QUANTILES)
    summary = {"mean": float(sample.mean()), "std": float(sample.std())}
    return summary | {f"q{q:.0f}": float(x) for q, x in zip(QUANTILES, quantiles, strict=True)}


def inverse_squared(margin: float) -> float:
    """1 / gamma^2."""
    return 1.0 / positive(margin) ** 2


def positive(margin: float) -> float:
    """The margin, which every normalised measure divides by."""
    if not margin > 0:
        raise UserError(
            f"margin: {margin:.4g} is not positive, so measures divided by it say nothing; "
            "train until the 5th percentile of the training margins is above zero"
        )
    return margin
