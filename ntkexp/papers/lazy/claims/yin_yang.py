"""Figure 5.1: both regimes at equal training loss on the yin-yang (section 5.3.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pandas as pd

from ntkexp.claims.claim import (
    Case,
    Claim,
    Interval,
    Statistic,
    above,
    below,
    between,
    sharing,
    times,
)
from ntkexp.results.record import Record

EXPERIMENTS = ("lazy/yin_yang_maps",)
# Steps; the text has "after the very first few iterations".
FIRST = 100


def advantage(area: str) -> Statistic:
    """Non-linear less linear test loss in an area at each level, mean over the seeds."""

    def cases(records: Sequence[Record]) -> Iterable[Case]:
        return _of_levels(records, area, lambda difference: float(difference.mean()))

    return cases


def in_errors(area: str) -> Statistic:
    """The advantage in units of its standard error over the seeds."""

    def cases(records: Sequence[Record]) -> Iterable[Case]:
        return _of_levels(records, area, lambda d: float(d.mean() / standard_error(d)))

    return cases


def standard_error(values: pd.Series) -> float:
    return float(values.std() / np.sqrt(len(values)))


def _of_levels(
    records: Sequence[Record], area: str, value: Callable[[pd.Series], float]
) -> Iterable[Case]:
    for record in records:
        areas = record.tables["yin_yang_areas"]
        of_area = areas[areas["area"] == area]
        for level, rows in sorted(of_area.groupby("level"), reverse=True):
            yield Case(f"loss {level:g}", 0, value(rows["non_linear"] - rows["linear"]))


def speed_up(records: Sequence[Record]) -> Iterable[Case]:
    """Steps of the linear over those of the non-linear run of a seed, the median over seeds.

    A linear run that did not come below the level took longer than any: it counts as infinite.
    """
    for record in records:
        reached = record.tables["yin_yang_reached"]
        for level, rows in sorted(reached.groupby("level"), reverse=True):
            steps = rows.pivot(index="seed", columns="regime", values="step")
            comparable = steps[steps["non_linear"].notna()].astype(float)
            ratio = comparable["linear"].fillna(np.inf) / comparable["non_linear"]
            yield Case(f"loss {level:g}", 0, float(ratio.median()))


def early_falls(records: Sequence[Record]) -> Iterable[Case]:
    """By how much the median loss of the non-linear runs has fallen in the first steps, over the
    same of the linear ones."""
    for record in records:
        progress = record.tables["yin_yang_progress"]
        medians = progress.pivot(index="step", columns="regime", values="median")
        if FIRST in medians.index:
            fall = {regime: float(of[0] - of[FIRST]) for regime, of in medians.items()}
            yield Case("", 0, fall["non_linear"] / fall["linear"])


def uneven(records: Sequence[Record]) -> Iterable[Case]:
    """The share of the points of the square at which the regimes differ by another amount than on
    average, by more than two standard errors."""
    for record in records:
        for level, rows in sorted(record.tables["yin_yang_maps"].groupby("level"), reverse=True):
            away = (rows["difference"] - rows["difference"].mean()) / rows["standard_error"]
            yield Case(f"loss {level:g}", 0, float((away.abs() > 2).mean()))


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
        statistic=in_errors(area),
        holds=holds,
        threshold="the sign of the text's word, beyond two standard errors",
        also=("the mean", advantage(area)),
        seen="the sign of the mean alone, by which all three hold, became this",
    )


CLAIMS = (
    claim(
        "speed-up",
        says="Training is faster in the non-linear regime, at every threshold",
        number="steps to the threshold, linear over non-linear, median over seeds",
        statistic=speed_up,
        holds=above(1.0),
        paper="a speed-up",
        tables=("yin_yang_reached",),
        unit=times,
    ),
    claim(
        "first-iterations",
        says="In the very first iterations both regimes are equally fast",
        number=f"fall of the median training loss in {FIRST} steps, non-linear over linear",
        statistic=early_falls,
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
        statistic=uneven,
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
