"""Figures 5.2 (top), C.4, C.5 and C.6 (right): tenths of the examples by C-score, both regimes.

Levels and thresholds were set from the text before a run was looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from ntkexp.claims.claim import Case, Statistic, above, below, percent, sharing
from ntkexp.papers.lazy.claims.noise import (
    ANY,
    CLEAN,
    NEAR_1,
    PREMISE,
    PREMISE_SEEN,
    SIGN,
    STAYS,
    THROUGHOUT,
    stays_linear,
)
from ntkexp.papers.lazy.noise_curves import MEASURES
from ntkexp.papers.lazy.score_curves import (
    HIGHEST,
    LOWEST,
    TENTHS,
    at_accuracy,
    at_mean_loss,
    looks,
    networks,
    pairs,
)
from ntkexp.results.record import Record
from ntkexp.theory.float64 import Array

MLP, VGG = "lazy/c_scores_mlp", "lazy/c_scores_vgg11"
TITLES = {MLP: "MLP, MNIST", VGG: "VGG11, CIFAR-10"}
BOTH = (MLP, VGG, f"{VGG}_lazy")
# Mean training losses and training accuracies: those at which runs with wrong labels are compared.
LEVELS = CLEAN
KNOWN = (0.8, 0.9, 0.95)
Gap = Callable[[pd.DataFrame, pd.DataFrame], Array]


def title(name: str) -> str:
    return TITLES[name.removesuffix("_lazy")]


def mean(values: Array) -> float:
    """Over the levels that were reached; no number without one."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def easy_first(records: Sequence[Record]) -> Iterable[Case]:
    """Rank correlation of a tenth's place with its loss, mean over levels, of every network."""
    if not records:
        return
    for (name, alpha, seed), frame in networks(looks(records)):
        losses = np.stack([at_mean_loss(frame, tenth, LEVELS) for tenth in TENTHS])
        reached = losses[:, ~np.isnan(losses).any(axis=0)]
        ranks = [spearmanr(range(len(TENTHS)), of).statistic for of in reached.T]
        yield Case(f"{title(name)}, alpha = {alpha:g}", seed, mean(np.array(ranks)))


def of_regimes(gap: Gap) -> Statistic:
    """A case a seed: a difference of the regimes, (lazy, plain), mean over levels."""

    def cases(records: Sequence[Record]) -> Iterable[Case]:
        if records:
            for name, seed, lazy, plain in pairs(looks(records)):
                if stays_linear(lazy):
                    yield Case(title(name), seed, mean(gap(lazy, plain)))

    return cases


def wider(lazy: pd.DataFrame, plain: pd.DataFrame) -> Array:
    """Loss of the lowest tenth less that of the highest, non-linear less lazy."""
    plain_gap, lazy_gap = (
        at_mean_loss(frame, LOWEST, LEVELS) - at_mean_loss(frame, HIGHEST, LEVELS)
        for frame in (plain, lazy)
    )
    return plain_gap - lazy_gap


def of_tenth(tenth: str) -> Gap:
    """Loss of a tenth, non-linear less lazy, as Figure C.5 draws it."""

    def gap(lazy: pd.DataFrame, plain: pd.DataFrame) -> Array:
        return at_mean_loss(plain, tenth, LEVELS) - at_mean_loss(lazy, tenth, LEVELS)

    return gap


def lowest_known(lazy: pd.DataFrame, plain: pd.DataFrame) -> Array:
    of = f"{LOWEST}_known"
    return at_accuracy(lazy, of, KNOWN) - at_accuracy(plain, of, KNOWN)


def wider_known(lazy: pd.DataFrame, plain: pd.DataFrame) -> Array:
    high, low = f"{HIGHEST}_known", f"{LOWEST}_known"
    plain_gap, lazy_gap = (
        at_accuracy(frame, high, KNOWN) - at_accuracy(frame, low, KNOWN) for frame in (plain, lazy)
    )
    return plain_gap - lazy_gap


def least_linear(records: Sequence[Record]) -> Iterable[Case]:
    for (name, alpha, seed), frame in networks(looks(records)) if records else ():
        if alpha == 100:
            yield Case(title(name), seed, float(frame[[*MEASURES]].min().min()))


def decrease(records: Sequence[Record]) -> Iterable[Case]:
    for (name, alpha, seed), frame in networks(looks(records)) if records else ():
        if alpha == 1:
            for measure in MEASURES:
                found = float(spearmanr(frame["step"], frame[measure]).statistic)
                yield Case(f"{title(name)}, {measure}", seed, found)


COMMON = {
    "experiments": BOTH,
    "tables": ("evals",),
    "holds": above(0.0),
    "threshold": SIGN,
    "horizon": ANY,
}
fig52 = sharing("lazy-fig52-scores-", figure="5.2", **COMMON)
figc5 = sharing("lazy-figc5-scores-", figure="C.5", **COMMON)
figc6 = sharing("lazy-figc6-scores-", figure="C.6", **COMMON)


CLAIMS = (
    fig52(
        "easy-first",
        statistic=easy_first,
        says="Examples with high C-scores are learned faster, in both regimes",
        paper="faster",
        number="rank correlation of score and loss of tenths at equal mean training loss, mean "
        "over levels",
        holds=below(-0.9),
        threshold="ours, for an order of ten groups: hardly two neighbours out of place",
    ),
    fig52(
        "spread",
        statistic=of_regimes(wider),
        says="The effect is amplified in the non-linear regime: the tenths lie further apart",
        paper="amplified",
        number="loss of the lowest tenth less that of the highest at equal mean training loss, "
        "alpha = 1 less alpha = 100"
        f"{PREMISE}",
        seen=PREMISE_SEEN,
    ),
    fig52(
        "linear",
        statistic=least_linear,
        says="For alpha = 100 the measures of linearity stay at 1",
        paper="essentially 1",
        number="the lowest of the three measures along training",
        tables=("evals", "linearity"),
        horizon=STAYS,
        holds=above(NEAR_1),
        threshold="that of the runs with wrong labels",
    ),
    fig52(
        "not-linear",
        statistic=decrease,
        says="For alpha = 1 the measures of linearity fall steadily",
        paper="a steady decrease",
        number="rank correlation of a measure with the iteration",
        tables=("evals", "linearity"),
        horizon=THROUGHOUT,
        holds=below(-0.9),
        threshold="that of the runs with wrong labels",
    ),
    figc5(
        "high",
        statistic=of_regimes(of_tenth(HIGHEST)),
        says="At equal training loss the examples with high C-scores have a lower loss in the "
        "non-linear regime",
        paper="lower",
        number=f"loss of the highest tenth, alpha = 1 less alpha = 100, mean over levels{PREMISE}",
        holds=below(0.0),
        seen=PREMISE_SEEN,
    ),
    figc5(
        "low",
        statistic=of_regimes(of_tenth(LOWEST)),
        says="And the examples with low C-scores a higher one",
        paper="conversely",
        number=f"loss of the lowest tenth, alpha = 1 less alpha = 100, mean over levels{PREMISE}",
        seen=PREMISE_SEEN,
    ),
    figc6(
        "lowest-faster",
        statistic=of_regimes(lowest_known),
        says="Examples with low C-scores are learned comparatively faster in the linear regime",
        paper="faster",
        number="accuracy on the lowest tenth at training accuracies of .8, .9 and .95, alpha = 100 "
        "less alpha = 1"
        f"{PREMISE}",
        unit=percent,
        seen=PREMISE_SEEN,
    ),
    figc6(
        "accuracies-spread",
        statistic=of_regimes(wider_known),
        says="The accuracies of the tenths are more spread in the non-linear regime",
        paper="more spread",
        number="accuracy of the highest tenth less that of the lowest, alpha = 1 less alpha = 100"
        f"{PREMISE}",
        unit=percent,
        seen=PREMISE_SEEN,
    ),
)
