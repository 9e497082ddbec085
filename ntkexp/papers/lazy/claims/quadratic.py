"""Figure 5.4: the three examples of section 5.4.4, from the closed forms as corrected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from ntkexp.claims.claim import Case, Claim, Statistic, above, below, percent
from ntkexp.claims.horizon import OWN_END
from ntkexp.results.record import Record

EXPERIMENTS = ("lazy/quadratic_examples",)
HALF = 0.5
# Of a mode's distance from its target: what is left of it where it counts as learned.
LEFT = 0.1


def half_times(curves: pd.DataFrame) -> pd.Series:
    """When the loss of every example of Example 1 has fallen to half, by the example's number."""
    found = {
        int(str(group)): _first_below(rows["time"].to_numpy(), rows["loss"].to_numpy())
        for group, rows in curves.sort_values("time").groupby("group")
    }
    return pd.Series(found).sort_index()


def _first_below(time: np.ndarray, loss: np.ndarray) -> float:
    below = np.flatnonzero(loss <= HALF * loss[0])
    return float(time[below[0]]) if len(below) else np.nan


def order(regime: str) -> Statistic:
    """Rank correlation of an example's number with the time at which it is learned."""

    def cases(records: Sequence[Record]) -> Iterable[Case]:
        for record in records:
            curves = record.tables["quadratic_curves"]
            times = half_times(curves[(curves["example"] == 1) & (curves["regime"] == regime)])
            yield Case("", record.seed, float(spearmanr(times.index, times).statistic))

    return cases


def sequentialised(records: Sequence[Record]) -> Iterable[Case]:
    """What is left of the next mode when one has a tenth left, mean over neighbours in the order of
    learning: non-linear less linearised. In Example 1 an example is a mode."""
    for record in records:
        curves = record.tables["quadratic_curves"]
        found = {
            regime: _next_left(rows)
            for regime, rows in curves[curves["example"] == 1].groupby("regime")
        }
        yield Case("", record.seed, found["non_linear"] - found["linearised"])


def _next_left(curves: pd.DataFrame) -> float:
    """The distance of an output from its label is the root of its loss."""
    left = curves.pivot(index="time", columns="group", values="loss").pow(0.5)
    left = left / left.iloc[0]
    order = left.le(LEFT).idxmax().sort_values()
    if not left.le(LEFT).any().all():
        return np.nan
    pairs = zip(order.index, order.index[1:], strict=False)
    return float(np.mean([left.loc[order[first], second] for first, second in pairs]))


def minority_later(example: int, basis: str) -> Statistic:
    """Minority loss, non-linear less linearised, at each level of the majority's."""

    def cases(records: Sequence[Record]) -> Iterable[Case]:
        for record in records:
            for level, difference in _differences(record, example, basis).groupby("level"):
                yield Case(f"majority {level:g}", record.seed, float(difference["gap"].mean()))

    return cases


def share_of_rotations(records: Sequence[Record]) -> Iterable[Case]:
    """The rotations of the equal modes, and levels, with the text's order."""
    for record in records:
        gaps = _differences(record, 2, "rotation")["gap"]
        yield Case("", record.seed, float((gaps > 0).mean()))


def _differences(record: Record, example: int, basis: str) -> pd.DataFrame:
    levels = record.tables["quadratic_levels"]
    chosen = levels[(levels["example"] == example) & (levels["basis"] == basis)]
    wide = chosen.pivot_table(index=["draw", "level"], columns="regime", values="minority")
    return wide.assign(gap=wide["non_linear"] - wide["linearised"]).reset_index()


def _claim(
    name: str, says: str, paper: str, number: str, statistic: Statistic, threshold: str
) -> Callable[..., Claim]:
    def made(**more: object) -> Claim:
        table = "quadratic_curves" if name.startswith("order") else "quadratic_levels"
        return Claim(
            id=f"lazy-fig54-{name}",
            figure="5.4",
            says=says,
            paper=paper,
            number=number,
            experiments=EXPERIMENTS,
            tables=(table,),
            statistic=statistic,
            threshold=threshold,
            horizon=OWN_END,
            **more,  # type: ignore[arg-type]
        )

    return made


SIGN = "the sign of the text's word"
LATER = "minority loss at equal majority loss, non-linear less linearised"
CLAIMS = (
    _claim(
        "order-linear",
        "Example 1, linearised: examples with a lower number are learned faster",
        "lower index faster",
        "rank correlation of an example's number with the time its loss is halved",
        order("linearised"),
        "the order of the text: 1, but for rounding",
    )(holds=above(0.999)),
    _claim(
        "order-flips",
        "Example 1, non-linear: examples are learned from high to low number; linearisation flips "
        "the order",
        "from high to low index",
        "rank correlation of an example's number with the time its loss is halved",
        order("non_linear"),
        "the order of the text: -1, but for rounding",
    )(holds=below(-0.999)),
    _claim(
        "order-sequential",
        "Non-linearity and small initial weights make the modes be learned one after the other",
        "sequentially",
        "Example 1, what is left of the next mode when one has a tenth left, non-linear less "
        "linearised",
        sequentialised,
        "ours: a twentieth; (5.4.8) is a limit of small weights, which a test compares with",
    )(holds=above(0.05)),
    _claim(
        "noise",
        "Example 2: the non-linear dynamics prioritises learning the clean labels",
        "later",
        f"{LATER}, in the basis that LAPACK finds",
        minority_later(2, "lapack"),
        SIGN,
    )(holds=above(0.0)),
    _claim(
        "noise-two-modes",
        "Example 2, with its equal modes chosen so that the labels lie in two: the non-linear "
        "dynamics prioritises learning the clean labels",
        "later",
        LATER,
        minority_later(2, "two_modes"),
        SIGN,
    )(holds=above(0.0)),
    _claim(
        "noise-rotations",
        "Example 2, whatever the basis of its equal modes: the non-linear dynamics prioritises "
        "learning the clean labels",
        "later",
        "share of random bases and levels in which the minority is learned later",
        share_of_rotations,
        "all of them: the text names no basis",
    )(holds=above(1.0), unit=percent),
    _claim(
        "spurious",
        "Example 3: the non-linear dynamics prioritises learning the spuriously correlated feature",
        "later",
        LATER,
        minority_later(3, "lapack"),
        SIGN,
    )(holds=above(0.0)),
)
