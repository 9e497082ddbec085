"""Numbers read off the spectra of networks along training."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ntkexp.claims.curves import rank_correlation

REACHED = 0.9
HIGH_FROM = 50


def first_steps(there: pd.DataFrame) -> pd.Series:
    """By column: the first step, of the index, with True; the last step where it never is."""
    first: pd.Series = there.idxmax().where(there.any(), there.index.max())
    return first


def hits(fourier: pd.DataFrame) -> pd.DataFrame:
    """(seed, k): the first step at which |f~_k| is 0.9 of the target's."""
    there = fourier["magnitude"] >= REACHED * fourier["target"]
    return first_steps(by_network_and_k(fourier, there)).unstack("k")


def residual_hits(fourier: pd.DataFrame) -> pd.DataFrame:
    """(seed, k): the first step at which |f~ - y~| is half of |y~| or less."""
    there = fourier["residual"] <= 0.5 * fourier["target"]
    return first_steps(by_network_and_k(fourier, there)).unstack("k")


def by_network_and_k(fourier: pd.DataFrame, there: pd.Series) -> pd.DataFrame:
    """A value of every row, by step (rows) and by network and k (columns)."""
    rows = fourier[["step", "seed", "k"]].assign(there=there)
    return rows.pivot(index="step", columns=["seed", "k"], values="there")


def gone(fourier: pd.DataFrame, step: int) -> pd.Series:
    """By k, the share of the residual at the start that is gone at a step, mean over networks."""
    rows = fourier[fourier["step"].isin([0, step])]
    means = rows.groupby(["step", "k"])["residual"].mean()
    shares: pd.Series = 1 - means[step] / means[0]
    return shares


def by_frequency(values: pd.Series) -> float:
    """Spearman's correlation of k, the index, with the values."""
    return rank_correlation(values.index.to_numpy(), values)


def log_product(norms: pd.DataFrame) -> pd.Series:
    """By step, log of the product of all layers' spectral norms, mean over networks."""
    logs = norms.assign(log=np.log(norms["norm"].astype(float)))
    summed = logs.groupby(["seed", "step"])["log"].sum()
    means: pd.Series = summed.groupby("step").mean()
    return means


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


def high_fitted(fourier: pd.DataFrame) -> pd.DataFrame:
    """(step, seed): H, the mean over k > 50 of 1 - min(1, |f~ - y~| / |y~|)."""
    high = fourier[fourier["k"] > HIGH_FROM]
    shares = high.assign(H=1 - (high["residual"] / high["target"]).clip(upper=1))
    table: pd.DataFrame = shares.pivot_table(index="step", columns="seed", values="H")
    return table


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
