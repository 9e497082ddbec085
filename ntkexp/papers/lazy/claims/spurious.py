"""Figures 5.3, C.7 and C.8: what three regimes learn where an attribute mostly tells the label.

Levels and thresholds were set from the text before the runs were looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from ntkexp.claims.claim import Case, Claim, Statistic, above, below, percent, times
from ntkexp.claims.horizon import OWN_END, Horizon, either
from ntkexp.papers.lazy.spurious_curves import (
    EXPERIMENTS,
    LIMITS,
    LINEARISED,
    TITLES,
    WATERBIRDS_KIND,
    at_levels,
    curves,
    networks,
)
from ntkexp.results.record import Record

LAZY, PLAIN, HASTY = 100.0, 1.0, 0.5
# Accuracies with the attribute, in the range of the figure.
WITH = (0.6, 0.7, 0.8, 0.9)
# Training accuracies of the first phase: from where the authors' figure begins, to what the
# attribute alone gives in Waterbirds' proportions.
PHASE_1 = (0.75, 0.8, 0.85, 0.9, 0.95)
FITTED = 0.99
Looks = Mapping[float, pd.DataFrame]


def fits_phase_1(record: Record) -> bool:
    """Whether all networks of a run came to the training accuracy where the first phase ends."""
    return bool(curves([record]).groupby(["alpha", "seed"])["train_all"].max().min() >= PHASE_1[-1])


PHASE_1_OVER = either(Horizon("95 % training accuracy", fits_phase_1), OWN_END)


def of_networks(value: Callable[[Looks], float]) -> Statistic:
    """One case for the networks of a seed, that differ in alpha alone."""

    def cases(records: Sequence[Record]) -> Iterable[Case]:
        if not records:
            return
        for experiment, seed, looks in networks(curves(records)):
            yield Case(TITLES[experiment], seed, value(looks))

    return cases


def gaps(
    looks: Looks, of: str, against: str, levels: Sequence[float], pair: tuple[float, float]
) -> np.ndarray:
    """The accuracy `of` for the first alpha less that for the second, at levels both come to."""
    if any(alpha not in looks for alpha in pair):
        return np.array([])
    first, second = (at_levels(looks[alpha], of, against, levels) for alpha in pair)
    difference = first - second
    return np.asarray(difference[~np.isnan(difference)])


def mean_gap(
    of: str, against: str, levels: Sequence[float], pair: tuple[float, float]
) -> Callable[[Looks], float]:
    def value(looks: Looks) -> float:
        found = gaps(looks, of, against, levels, pair)
        return float(found.mean()) if len(found) else float("nan")

    return value


def fitted(looks: Looks) -> Looks | None:
    """The looks at networks of the three regimes; None unless each has fitted its training set.

    Where alpha = 100 has not come there the linearised network stands for it, which is its limit
    for large alpha and costs a tenth of its time.
    """
    found = {alpha: looks[alpha] for alpha in (HASTY, PLAIN, LAZY) if alpha in looks}
    if LINEARISED in looks and not (LAZY in found and _fits(found[LAZY])):
        found[LAZY] = looks[LINEARISED]
    return found if len(found) == 3 and all(map(_fits, found.values())) else None


def _fits(frame: pd.DataFrame) -> bool:
    return bool(frame["train_all"].max() >= FITTED)


def convergence(looks: Looks) -> float:
    """How far the test accuracies are apart at the end, over the first phase's mean."""
    three = fitted(looks)
    if three is None:
        return float("nan")
    found = np.array([at_levels(f, "test_all", "train_all", PHASE_1) for f in three.values()])
    apart = np.ptp(found, axis=0)
    before = apart[~np.isnan(apart)]
    last = [frame["test_all"].iloc[-1] for frame in three.values()]
    return float(np.ptp(last) / before.mean()) if len(before) and before.mean() > 0 else np.nan


def advantage(looks: Looks) -> float:
    """The last test accuracy for alpha = 1 less that for alpha = 100."""
    three = fitted(looks)
    if three is None:
        return float("nan")
    return float(three[PLAIN]["test_all"].iloc[-1] - three[LAZY]["test_all"].iloc[-1])


def _robust(split: str, pair: tuple[float, float]) -> Statistic:
    return of_networks(mean_gap(f"{split}_without", f"{split}_with", WITH, pair))


def _phase_1(pair: tuple[float, float]) -> Statistic:
    return of_networks(mean_gap("test_all", "train_all", PHASE_1, pair))


SIGN = "the sign of the text's word"
EQUAL_WITH = "accuracy without the attribute at accuracies with it of .6, .7, .8 and .9"
WHERE_FITTED = (
    "where all three fit 99 % of the training images; the linearised network for alpha = 100 where "
    "that has not come so far"
)
PHASE = "balanced test accuracy at training accuracies of .75 to .95"


def _claim(name: str, **more: object) -> Claim:
    given: dict[str, object] = {
        "id": f"lazy-fig53-{name}",
        "figure": "5.3",
        "experiments": EXPERIMENTS,
        "tables": ("evals",),
        "holds": above(0.0),
        "threshold": SIGN,
        "horizon": PHASE_1_OVER,
        "unit": percent,
    }
    return Claim(**{**given, **more})  # type: ignore[arg-type]


CLAIMS = (
    _claim(
        "robust-train",
        says="At equal accuracy with the spurious attribute, accuracy without it is higher in the "
        "linear regime, on training images",
        paper="increases faster in the linear regime",
        number=f"{EQUAL_WITH}, alpha = 100 less alpha = 1",
        statistic=_robust("train", (LAZY, PLAIN)),
        also=("less alpha = .5", _robust("train", (LAZY, HASTY))),
    ),
    _claim(
        "robust-test",
        says="A similar trend holds for test examples",
        paper="a similar trend",
        number=f"{EQUAL_WITH}, alpha = 100 less alpha = 1",
        statistic=_robust("test", (LAZY, PLAIN)),
        also=("less alpha = .5", _robust("test", (LAZY, HASTY))),
    ),
    _claim(
        "phase-1",
        says="In the first phase the test accuracy is higher for alpha = 100 than for other runs",
        paper="higher",
        number=f"{PHASE}, alpha = 100 less alpha = 1",
        statistic=_phase_1((LAZY, PLAIN)),
    ),
    _claim(
        "phase-1-order",
        says="In the first phase the test accuracy is lowest for alpha = .5",
        paper="the same hierarchy",
        number=f"{PHASE}, alpha = 1 less alpha = .5",
        statistic=_phase_1((PLAIN, HASTY)),
    ),
    _claim(
        "phase-2",
        says="In the second phase all three runs seem to converge",
        paper="converge",
        number="how far the test accuracies are apart at the end, over the first phase's mean, "
        f"{WHERE_FITTED}",
        experiments=(*EXPERIMENTS, *LIMITS),
        statistic=of_networks(convergence),
        holds=below(0.5),
        threshold="ours, for `converge`: half as far apart",
        unit=times,
    ),
    _claim(
        "phase-2-advantage",
        says="Non-linear runs end with a slight advantage on Waterbirds",
        paper="slight advantage",
        number=f"last test accuracy, alpha = 1 less alpha = 100, {WHERE_FITTED}",
        experiments=(*WATERBIRDS_KIND, *LIMITS),
        statistic=of_networks(advantage),
    ),
)
