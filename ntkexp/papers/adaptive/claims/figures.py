"""Figures 1 to 3 and appendix B.1."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from ntkexp.claims.claim import Case, Claim, Section, above, below, between, percent, times
from ntkexp.claims.horizon import OWN_END
from ntkexp.papers.adaptive.cases import (
    LINEAR,
    SIGN,
    cosine,
    fifths,
    of_pairs,
    of_tasks,
)
from ntkexp.results.record import Record

NETS = ("adaptive/label_kernel",)
NEAR_ZERO = 0.01


def fit_r2(rows: pd.DataFrame) -> float:
    chosen = rows[(rows["label"] == "residual") & (rows["parts"] == 2)]
    return float(chosen["r2"].iloc[0])


def least_coefficient(rows: pd.DataFrame) -> float:
    chosen = rows[(rows["label"] == "residual") & (rows["parts"] == 3)].iloc[0]
    return float(min(chosen["a"], chosen["b"], chosen["c"]))


def remainder(rows: pd.DataFrame) -> float:
    row = rows[rows["statistic"] == "remainder"].iloc[0]
    return float(row["low"] - row["high"])


def slopes_at_the_end(records: Sequence[Record]) -> Iterable[Case]:
    """d log omega~ / d log v between the two largest v."""
    for record in records:
        for name, frame in record.tables["effective_penalties"].groupby("penalty"):
            last = frame.sort_values("v").tail(2)
            rise = np.diff(np.log(last["value"])) / np.diff(np.log(last["v"]))
            if name != "none":
                yield Case(str(name), 0, float(rise[0]))


def ratios_near_zero(records: Sequence[Record]) -> Iterable[Case]:
    """omega~(v) / v^2 at the v nearest to 0.01."""
    for record in records:
        for name, frame in record.tables["effective_penalties"].groupby("penalty"):
            row = frame.iloc[int((frame["v"] - NEAR_ZERO).abs().to_numpy().argmin())]
            if name != "none":
                yield Case(str(name), 0, float(row["value"] / row["v"] ** 2))


def accuracies(records: Sequence[Record]) -> Iterable[Case]:
    for record in records:
        table = record.tables["threshold_targets"]
        for (fit, split), frame in table.groupby(["fit", "split"]):
            where = "the points" if split == "train" else "others"
            for seed, accuracy in zip(frame["seed"], frame["accuracy"], strict=True):
                yield Case(f"{str(fit).replace('_', ' ')}, {where}", int(seed), float(accuracy))


CLAIMS = (
    Claim(
        id="adaptive-fig1-sign-higher",
        figure="1",
        says="The harder task of regression with binarised labels has a higher label kernel "
        "alignment",
        paper="higher",
        number="cosine of adapted and label kernel, sign task less linear task",
        experiments=NETS,
        tables=("adapted_cosines",),
        statistic=of_pairs("adapted_cosines", cosine("average", "residual")),
        holds=above(0.0),
        threshold="the sign of the text's word",
        horizon=OWN_END,
        also=(
            "the two cosines",
            of_tasks("adapted_cosines", cosine("average", "residual"), (LINEAR, SIGN)),
        ),
    ),
    Claim(
        id="adaptive-fig1-combination",
        figure="1",
        says="On the linear task the adapted kernel very closely resembles a linear combination of "
        "the initial kernel and the label kernel",
        paper="very closely",
        number="share of the variance of its entries that a K0 + b K_label explains",
        experiments=NETS,
        tables=("adapted_fits",),
        statistic=of_tasks("adapted_fits", fit_r2, (LINEAR,)),
        holds=above(0.9),
        threshold="ours, for `very closely`: nine tenths",
        horizon=OWN_END,
        unit=percent,
        also=("on the sign task", of_tasks("adapted_fits", fit_r2, (SIGN,))),
    ),
    Claim(
        id="adaptive-fig1-three-kernels",
        figure="1",
        says="On the sign task the adapted kernel reflects the initial kernel, the label kernel "
        "for linear targets and that for binary targets",
        paper="reflects",
        number="the least of the three coefficients of its least-squares fit by them",
        experiments=NETS,
        tables=("adapted_fits",),
        statistic=of_tasks("adapted_fits", least_coefficient, (SIGN,)),
        holds=above(0.0),
        threshold="ours: each kernel counts with a positive sign",
        horizon=OWN_END,
    ),
    Claim(
        id="adaptive-fig3-near-zero",
        figure="3",
        says="The kernel is highly influenced by difficult training points, near y = 0",
        paper="highly",
        number="mean K_ii of the fifth nearest to y = 0 over the farthest, sign less linear task",
        experiments=NETS,
        tables=("adapted_fifths",),
        statistic=of_pairs("adapted_fifths", fifths("diagonal")),
        holds=above(0.0),
        threshold="ours: more so than on the task without difficult points",
        horizon=OWN_END,
        also=("the two ratios", of_tasks("adapted_fifths", fifths("diagonal"), (LINEAR, SIGN))),
    ),
    Claim(
        id="adaptive-fig3-larger-near-zero",
        figure="3",
        says="On the sign task the adapted kernel is very large for points with y near 0",
        paper="very large",
        number="mean K_ii of the fifth nearest to y = 0 over that of the farthest",
        experiments=NETS,
        tables=("adapted_fifths",),
        statistic=of_tasks("adapted_fifths", fifths("diagonal"), (SIGN,)),
        holds=above(1.0),
        threshold="ours, the least that it can mean: larger",
        horizon=OWN_END,
        unit=times,
    ),
    Claim(
        id="adaptive-fig3-remainder",
        figure="3",
        says="What initial and label kernel leave of the adapted kernel's diagonal is larger near "
        "y = 0 (the statistic of the authors' script)",
        paper="larger",
        number="mean of diag(K - a K0 - b K_label), nearest fifth less farthest",
        experiments=NETS,
        tables=("adapted_fifths",),
        statistic=of_tasks("adapted_fifths", remainder, (SIGN,)),
        holds=above(0.0),
        threshold="the sign of the text's word",
        horizon=OWN_END,
        also=("on the linear task", of_tasks("adapted_fifths", remainder, (LINEAR,))),
    ),
    Claim(
        id="adaptive-fig2-sub-quadratic",
        figure="2",
        says="All effective penalties are sub-quadratic",
        paper="below 2",
        number="slope of log penalty by log v at v = 100",
        experiments=("adaptive/penalties",),
        tables=("effective_penalties",),
        statistic=slopes_at_the_end,
        holds=below(1.99),
        threshold="the text's word, past rounding",
        horizon=OWN_END,
        section=Section.identity,
    ),
    Claim(
        id="adaptive-fig2-square-near-zero",
        figure="2",
        says="All behave like v² near v = 0",
        paper="1",
        number="penalty over v² at v = 0.01",
        experiments=("adaptive/penalties",),
        tables=("effective_penalties",),
        statistic=ratios_near_zero,
        holds=between(0.99, 1.01),
        threshold="ours: to one in a hundred",
        horizon=OWN_END,
        section=Section.identity,
    ),
    Claim(
        id="adaptive-b1-accuracy",
        figure=None,
        says="The targets, thresholded at 0, have 95.2 % of the classes right (appendix B.1; on "
        "which points and by which fit is not said)",
        paper="95.2 %",
        number="share of right classes, by fit and set of points",
        experiments=("adaptive/targets",),
        tables=("threshold_targets",),
        statistic=accuracies,
        holds=between(0.942, 0.962),
        threshold="ours: the text's number, within a point",
        horizon=OWN_END,
        unit=percent,
    ),
)
