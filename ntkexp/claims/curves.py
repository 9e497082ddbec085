"""Statistics of a curve along training: its level, when it rises, whether it follows another."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.stats import spearmanr

# Nothing before this iteration is on the figures' axes.
FIRST_ITERATION = 10


def smooth(curve: pd.Series) -> pd.Series:
    """The running median of three probes: a value that one probe alone shows is none."""
    return curve.rolling(3, center=True, min_periods=2).median()


def level(curve: pd.Series, step: float) -> float:
    """The median of the three probes nearest to `step`, by their ratio."""
    distance = np.abs(np.log1p(curve.index.to_numpy(float)) - np.log1p(step))
    return float(np.median(curve.to_numpy()[np.argsort(distance, kind="stable")[:3]]))


def at(curve: pd.Series, step: float) -> float:
    """The curve's value at the probe nearest to `step`."""
    steps = curve.index.to_numpy()
    return float(curve.iloc[int(np.abs(steps - step).argmin())])


def shown(curve: pd.Series) -> pd.Series:
    """The part of a curve that the figures show; all of it when it ends before."""
    part = curve[curve.index >= FIRST_ITERATION]
    return part if len(part) else curve


def crossing(curve: pd.Series, share: float) -> float:
    """The iteration at which a curve has risen by `share` of its whole rise, log-interpolated."""
    start, top = float(curve.iloc[0]), float(curve.max())
    level = start + share * (top - start)
    place = int((curve >= level).to_numpy().argmax())
    if place == 0:
        return float(curve.index[0])
    before, after = curve.iloc[place - 1], curve.iloc[place]
    part = (level - before) / (after - before)
    ends = np.log1p(curve.index.to_numpy()[place - 1 : place + 1].astype(float))
    return float(np.expm1(ends[0] + part * (ends[1] - ends[0])))


def spearman(x: ArrayLike, y: ArrayLike) -> float:
    """Spearman's correlation; not a number when either is constant."""
    first, second = np.asarray(x, float), np.asarray(y, float)
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return float("nan")
    return float(spearmanr(first, second).statistic)


def rank_correlation(x: ArrayLike, y: ArrayLike) -> float:
    """The same without its last digits: that of a perfect order is 1.

    >>> rank_correlation(np.array([1, 2, 3]), np.array([10.0, 100.0, 1000.0]))
    1.0
    """
    return round(spearman(x, y), 12)


def agreement(x: np.ndarray | pd.Series, y: np.ndarray | pd.Series) -> float:
    """The weighted share of pairs that x orders as y does: +1 if all, -1 if none.

    Every pair counts by how far its y are apart: the order among those that are nearly equal, which
    chance decides, weighs little. 0 if x is constant, not a number if y is.

    >>> agreement(np.array([4, 2, 3]), np.array([0.3, 0.11, 0.1])).__round__(2)
    0.95
    """
    first, second = (np.asarray(values, float) for values in (x, y))
    i, j = np.triu_indices(len(first), 1)
    apart = second[i] - second[j]
    if not apart.any():
        return float("nan")
    return float(np.sign(first[i] - first[j]) @ apart / np.abs(apart).sum())
