"""Figure 5.1: both regimes at equal training loss on the yin-yang (section 5.3.1)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from ntkexp.claims.claim import (
    Claim,
    Interval,
    above,
    below,
    between,
    sharing,
    times,
)
from ntkexp.claims.statistics import by_run

EXPERIMENTS = ("lazy/yin_yang_maps",)
# Steps; the text has "after the very first few iterations".
FIRST = 100


def by_level(table: pd.DataFrame, number: Callable[[pd.DataFrame], float]) -> dict[str, float]:
    """A number of the rows of each level, the highest loss first."""
    levels = sorted(table.groupby("level"), reverse=True)
    return {f"loss {level:g}": number(rows) for level, rows in levels}


def advantage(yin_yang_areas: pd.DataFrame, area: str) -> dict[str, float]:
    """Non-linear less linear test loss in an area at each level, mean over the seeds."""
    return by_level(yin_yang_areas[yin_yang_areas["area"] == area], mean_gap)


def in_errors(yin_yang_areas: pd.DataFrame, area: str) -> dict[str, float]:
    """The advantage in units of its standard error over the seeds."""
    return by_level(yin_yang_areas[yin_yang_areas["area"] == area], mean_gap_in_errors)


def mean_gap(rows: pd.DataFrame) -> float:
    return float((rows["non_linear"] - rows["linear"]).mean())


def mean_gap_in_errors(rows: pd.DataFrame) -> float:
    gap = rows["non_linear"] - rows["linear"]
    return float(gap.mean() / standard_error(gap))


def standard_error(values: pd.Series) -> float:
    return float(values.std() / np.sqrt(len(values)))


def speed_up(yin_yang_reached: pd.DataFrame) -> dict[str, float]:
    """By level, steps of the linear over those of the non-linear run of a seed, the median over
    seeds."""
    return by_level(yin_yang_reached, median_ratio)


def median_ratio(reached: pd.DataFrame) -> float:
    """A linear run that did not come below the level took longer than any: it counts as
    infinite."""
    steps = reached.pivot(index="seed", columns="regime", values="step")
    comparable = steps[steps["non_linear"].notna()].astype(float)
    return float((comparable["linear"].fillna(np.inf) / comparable["non_linear"]).median())


def early_falls(yin_yang_progress: pd.DataFrame) -> float:
    """By how much the median loss of the non-linear runs has fallen in the first steps, over the
    same of the linear ones."""
    medians = yin_yang_progress.pivot(index="step", columns="regime", values="median")
    if FIRST not in medians.index:
        return float("nan")
    falls = {regime: float(of[0] - of[FIRST]) for regime, of in medians.items()}
    return falls["non_linear"] / falls["linear"]


def uneven(yin_yang_maps: pd.DataFrame) -> dict[str, float]:
    """By level, the share of the points of the square at which the regimes differ by another amount
    than on average, by more than two standard errors."""
    return by_level(yin_yang_maps, share_away)


def share_away(rows: pd.DataFrame) -> float:
    away = (rows["difference"] - rows["difference"].mean()) / rows["standard_error"]
    return float((away.abs() > 2).mean())


claim = sharing(
    "lazy-fig51-",
    figure="5.1",
    paper="sign of the difference",
    experiments=EXPERIMENTS,
    tables=("yin_yang_areas",),
)


def _area(area: str, says: str, holds: Interval) -> Claim:
    return claim(
        area,
        says=says,
        number="test loss there at equal training loss, non-linear less linear: mean over seeds in "
        "units of its standard error, at every threshold",
        statistic=by_run(in_errors, area=area),
        holds=holds,
        threshold="the sign of the text's word, beyond two standard errors",
        also=("the mean", by_run(advantage, area=area)),
        seen="the sign of the mean alone, by which all three hold, became this",
    )


CLAIMS = (
    claim(
        "speed-up",
        says="Training is faster in the non-linear regime, at every threshold",
        number="steps to the threshold, linear over non-linear, median over seeds",
        statistic=by_run(speed_up),
        holds=above(1.0),
        paper="a speed-up",
        tables=("yin_yang_reached",),
        unit=times,
    ),
    claim(
        "first-iterations",
        says="In the very first iterations both regimes are equally fast",
        number=f"fall of the median training loss in {FIRST} steps, non-linear over linear",
        statistic=by_run(early_falls),
        holds=between(0.98, 1.02),
        paper="a speed-up only after the very first few iterations",
        threshold="ours: two per cent",
        seen="the ratio of the losses themselves, by which it holds and which would be 1.02 for a "
        "network that had not moved, became that of their falls",
        tables=("yin_yang_progress",),
    ),
    claim(
        "uneven",
        says="The differences of the test loss are not uniformly spread",
        number="share of the points of the square where the difference is further from its mean "
        "than two standard errors",
        statistic=by_run(uneven),
        holds=above(0.25),
        paper="not uniformly",
        threshold="ours: one point in four, where chance gives one in twenty",
        tables=("yin_yang_maps",),
        seen="this was written",
    ),
    _area("open", "The non-linear regime does better in the large top-right and bottom-left areas",
          below(-2.0)),
    _area("discs", "The linear regime does better in the small discs", above(2.0)),
    _area("between", "The linear regime does better between the discs and the horizontal boundary",
          above(2.0)),
)  # fmt: skip
