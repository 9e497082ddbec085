"""Numbers read off the spectra of networks along training."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

REACHED = 0.9


def first_hits(fourier: pd.DataFrame) -> pd.Series:
    """By k, the mean over networks of the first step at which |f~_k| is 0.9 of the target's; the
    last step where it never is."""
    last = fourier["step"].max()
    reached = fourier[fourier["magnitude"] >= REACHED * fourier["target"]]
    first = reached.groupby(["seed", "k"])["step"].min()
    every = pd.MultiIndex.from_product(
        [fourier["seed"].unique(), sorted(fourier["k"].unique())], names=["seed", "k"]
    )
    means: pd.Series = first.reindex(every).fillna(last).groupby("k").mean()
    return means


def rank_correlation(x: object, y: object) -> float:
    """Spearman's; not a number where one of them is constant.

    >>> rank_correlation([1, 2, 3], [1, 10, 100])
    1.0
    """
    if len(np.unique(np.asarray(x))) < 2 or len(np.unique(np.asarray(y))) < 2:
        return float("nan")
    return float(spearmanr(x, y).statistic)


def by_frequency(values: pd.Series) -> float:
    """Spearman's correlation of k, the index, with the values."""
    return rank_correlation(values.index, values)


def log_product(norms: pd.DataFrame) -> pd.Series:
    """By step, log of the product of all layers' spectral norms, mean over networks."""
    logs = norms.assign(log=np.log(norms["norm"].astype(float)))
    summed = logs.groupby(["seed", "step"])["log"].sum()
    means: pd.Series = summed.groupby("step").mean()
    return means


def growth(norms: pd.DataFrame, step: int) -> float:
    """How much log of the product has grown at a step."""
    logs = log_product(norms)
    return float(logs[step] - logs[0])


def middle_delta(perturbed: pd.DataFrame) -> pd.DataFrame:
    """The rows of the delta whose mean ratio, over k and networks, is nearest to a half."""
    means = perturbed.groupby("delta")["magnitude"].mean()
    return perturbed[perturbed["delta"] == (means - 0.5).abs().idxmin()]


def first_reached(fourier: pd.DataFrame, low: list[int]) -> int:
    """The first step at which |f~_k| over the target's, mean over networks and the frequencies
    `low`, is 0.9; the last step where it never is."""
    own = fourier[fourier["k"].isin(low)]
    means = (own["magnitude"] / own["target"]).groupby(own["step"]).mean()
    reached = means.index[means >= REACHED]
    return int(reached.min() if len(reached) else means.index.max())


def slope(k: object, zeta: object) -> float:
    """d log zeta / d log k, by least squares."""
    return float(np.polyfit(np.log(np.asarray(k)), np.log(np.asarray(zeta)), 1)[0])
