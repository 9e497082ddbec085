"""Numbers read off the spectra of networks along training."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

REACHED = 0.9
HIGH_FROM = 50


def first_hits(fourier: pd.DataFrame) -> pd.Series:
    """By k, the mean over networks of the first step at which |f~_k| is 0.9 of the target's; the
    last step where it never is."""
    last = fourier["step"].max()
    reached = fourier[fourier["magnitude"] >= REACHED * fourier["target"]]
    first = reached.groupby(["seed", "k"])["step"].min()
    all_pairs = pd.MultiIndex.from_product(
        [fourier["seed"].unique(), sorted(fourier["k"].unique())], names=["seed", "k"]
    )
    means: pd.Series = first.reindex(all_pairs).fillna(last).groupby("k").mean()
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
    """The growth of the log of the product of all spectral norms up to a step."""
    logs = log_product(norms)
    return float(logs[step] - logs[0])


def middle_delta(perturbed: pd.DataFrame) -> pd.DataFrame:
    """The rows of the delta whose mean ratio, over k and networks, is nearest to a half."""
    means = perturbed.groupby("delta")["magnitude"].mean()
    return perturbed[perturbed["delta"] == (means - 0.5).abs().idxmin()]


def first_reached(fourier: pd.DataFrame, low: list[int]) -> int:
    """The first step at which |f~_k| over the target's, mean over networks and the frequencies
    `low`, is 0.9; the last step where it never is."""
    rows = fourier[fourier["k"].isin(low)]
    means = (rows["magnitude"] / rows["target"]).groupby(rows["step"]).mean()
    reached = means.index[means >= REACHED]
    return int(reached.min() if len(reached) else means.index.max())


def slope(k: object, zeta: object) -> float:
    """d log zeta / d log k, by least squares."""
    return float(np.polyfit(np.log(np.asarray(k)), np.log(np.asarray(zeta)), 1)[0])


def high_fitted(fourier: pd.DataFrame) -> float:
    """H: the mean over k > 50 and networks of 1 - min(1, |f~ - y~| / |y~|) at the last look."""
    last = fourier[(fourier["step"] == fourier["step"].max()) & (fourier["k"] > HIGH_FROM)]
    return float((1 - (last["residual"] / last["target"]).clip(upper=1)).mean())


def residual_hits(fourier: pd.DataFrame) -> pd.Series:
    """By k, the mean over networks of the first step at which |f~ - y~| is half of |y~| or less;
    the last step where it never is."""
    last = fourier["step"].max()
    near = fourier[fourier["residual"] <= 0.5 * fourier["target"]]
    first = near.groupby(["seed", "k"])["step"].min().unstack("k")
    seeds, k = sorted(fourier["seed"].unique()), sorted(fourier["k"].unique())
    means: pd.Series = first.reindex(index=seeds, columns=k).fillna(last).mean()
    return means


def falls(fourier: pd.DataFrame, replayed: pd.DataFrame, groups: int = 3) -> pd.DataFrame:
    """The fall of residuals after some steps, as measured and as the frozen kernel predicts, by
    stage of training, after and k: means over networks and the starts of each stage."""
    key = ["seed", "step", "k"]
    now = replayed[replayed["after"] == 0].set_index(key)["residual"]
    later = replayed[replayed["after"] > 0].assign(then=lambda rows: rows["step"] + rows["after"])
    measured = fourier.set_index(key)["residual"].astype(float)
    at_start = now[pd.MultiIndex.from_frame(later[key])].to_numpy()
    at_end = measured.reindex(pd.MultiIndex.from_frame(later[["seed", "then", "k"]])).to_numpy()
    starts = np.sort(later["step"].unique())
    stages = {step: groups * place // len(starts) for place, step in enumerate(starts)}
    table = pd.DataFrame(
        {
            "stage": later["step"].map(stages),
            "after": later["after"],
            "k": later["k"],
            "predicted": at_start - later["residual"],
            "measured": at_start - at_end,
        }
    )
    return table.groupby(["stage", "after", "k"]).mean().reset_index()
