"""Figures 5.2 (top), C.4, C.5 and C.6 (right): tenths of the examples by C-score, both regimes.

Levels and thresholds were set from the text before a run was looked at.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from ntkexp.claims.claim import above, below, percent, sharing
from ntkexp.claims.curves import spearman
from ntkexp.claims.statistics import by
from ntkexp.papers.lazy.claims.noise import (
    BY_LEVEL_SEEN,
    CLEAN,
    COMMON,
    NEAR_1,
    PREMISE,
    STAYS,
    THROUGHOUT,
    WITH_LINEARITY,
    at,
    at_the_rate,
    decrease,
    least_linear,
    regimes,
)
from ntkexp.papers.lazy.curves import BY_SCORE, HIGHEST, LOWEST, TENTHS, at_levels, at_losses, mean
from ntkexp.theory.float64 import Array

MLP, VGG = "lazy/c_scores_mlp", "lazy/c_scores_vgg11"
# Training accuracies; the losses are those at which runs with wrong labels are compared.
KNOWN = (0.8, 0.9, 0.95)


def loss_of(frame: pd.DataFrame, tenth: str) -> Array:
    return at_losses(frame, tenth, "all", CLEAN)


def accuracy_of(frame: pd.DataFrame, tenth: str) -> Array:
    return at_levels(frame, f"{tenth}_known", "all_known", KNOWN)


def easy_first(frame: pd.DataFrame) -> float:
    """Rank correlation of a tenth's place with its loss, mean over levels."""
    losses = np.stack([loss_of(frame, tenth) for tenth in TENTHS])
    reached = losses[:, ~np.isnan(losses).any(axis=0)]
    return mean(np.array([spearman(range(len(TENTHS)), column) for column in reached.T]))


def higher_loss(lazy: pd.DataFrame, plain: pd.DataFrame, tenth: str) -> dict[str, float]:
    """A tenth's loss for alpha = 1 less that for alpha = 100, by level."""
    return at(CLEAN, loss_of(plain, tenth) - loss_of(lazy, tenth))


def lower_accuracy(lazy: pd.DataFrame, plain: pd.DataFrame) -> dict[str, float]:
    """The lowest tenth's accuracy for alpha = 100 less that for alpha = 1, by level."""
    return at(KNOWN, accuracy_of(lazy, LOWEST) - accuracy_of(plain, LOWEST))


def wider_losses(lazy: pd.DataFrame, plain: pd.DataFrame) -> dict[str, float]:
    """The lowest tenth's loss less the highest's, for alpha = 1 less that for alpha = 100."""
    wide, narrow = (loss_of(net, LOWEST) - loss_of(net, HIGHEST) for net in (plain, lazy))
    return at(CLEAN, wide - narrow)


def wider_accuracies(lazy: pd.DataFrame, plain: pd.DataFrame) -> dict[str, float]:
    wide, narrow = (accuracy_of(net, HIGHEST) - accuracy_of(net, LOWEST) for net in (plain, lazy))
    return at(KNOWN, wide - narrow)


by_regimes = by(regimes(BY_SCORE))
fig52, figc5, figc6 = (
    sharing(
        f"lazy-{figure}-scores-",
        figure=name,
        **(COMMON | {"experiments": (MLP,)}),
    )
    for figure, name in (("fig52", "5.2"), ("figc5", "C.5"), ("figc6", "C.6"))
)


CLAIMS = (
    fig52(
        "easy-first",
        statistic=by(at_the_rate(columns=BY_SCORE))(easy_first),
        says="Examples with high C-scores are learned faster, in both regimes",
        paper="faster",
        number="rank correlation of score and loss of tenths at equal mean training loss, mean "
        "over levels",
        holds=below(-0.9),
        threshold="ours, for an order of ten groups: hardly two neighbours out of place",
    ),
    fig52(
        "spread",
        statistic=by_regimes(wider_losses),
        says="The effect is amplified in the non-linear regime: the tenths lie further apart",
        paper="amplified",
        number="loss of the lowest tenth less that of the highest at equal mean training loss, "
        f"alpha = 1 less alpha = 100{PREMISE}",
        seen=f"{BY_LEVEL_SEEN}, by which it holds",
    ),
    fig52(
        "linear",
        statistic=by(at_the_rate(100.0, BY_SCORE))(least_linear),
        says="For alpha = 100 the measures of linearity stay at 1",
        paper="essentially 1",
        number="the lowest of the three measures along training",
        tables=WITH_LINEARITY,
        horizon=STAYS,
        holds=above(NEAR_1),
        threshold="that of the runs with wrong labels",
    ),
    fig52(
        "not-linear",
        statistic=by(at_the_rate(1.0, BY_SCORE))(decrease),
        says="For alpha = 1 the measures of linearity fall steadily",
        paper="a steady decrease",
        number="rank correlation of a measure with the iteration",
        tables=WITH_LINEARITY,
        horizon=THROUGHOUT,
        holds=below(-0.9),
        threshold="that of the runs with wrong labels",
    ),
    figc5(
        "high",
        statistic=by_regimes(higher_loss, tenth=HIGHEST),
        says="At equal training loss the examples with high C-scores have a lower loss in the "
        "non-linear regime",
        paper="lower",
        number=f"loss of the highest tenth, alpha = 1 less alpha = 100{PREMISE}",
        holds=below(0.0),
        seen=f"{BY_LEVEL_SEEN}, by which it is partly",
    ),
    figc5(
        "low",
        statistic=by_regimes(higher_loss, tenth=LOWEST),
        says="And the examples with low C-scores a higher one",
        paper="conversely",
        number=f"loss of the lowest tenth, alpha = 1 less alpha = 100{PREMISE}",
        seen=f"{BY_LEVEL_SEEN}, by which it holds",
    ),
    figc6(
        "lowest-faster",
        statistic=by_regimes(lower_accuracy),
        says="Examples with low C-scores are learned comparatively faster in the linear regime",
        paper="faster",
        number="accuracy on the lowest tenth at training accuracies of .8, .9 and .95, alpha = 100 "
        f"less alpha = 1{PREMISE}",
        unit=percent,
        seen=f"{BY_LEVEL_SEEN}, by which it holds",
    ),
    figc6(
        "accuracies-spread",
        statistic=by_regimes(wider_accuracies),
        says="The accuracies of the tenths are more spread in the non-linear regime",
        paper="more spread",
        number="accuracy of the highest tenth less that of the lowest, alpha = 1 less "
        f"alpha = 100{PREMISE}",
        unit=percent,
        seen=f"{BY_LEVEL_SEEN}, by which it is partly",
    ),
)
