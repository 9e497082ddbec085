"""Numbers of the networks in a run of members, by task and seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ntkexp.claims.claim import Case, Claim, Statistic, sharing
from ntkexp.claims.statistics import (
    Number,
    Panels,
    named,
    of_networks,
    only,
    panel_of,
    read,
    together,
    with_words,
)
from ntkexp.results.numbers.evals import rows
from ntkexp.results.record import Record

# Tells the seeds of a run that count; None if all do.
Counts = Callable[[Record], Iterable[int]] | None
TASK = "data.targets"
LINEAR, SIGN = "linear", "sign"
HIDDEN, LAST = ("hidden1", "hidden2"), "output"
BY_SGD, BY_LEAST_SQUARES = "adaptive/label_kernel_sgd", "adaptive/label_kernel"
LEAST_SQUARES = "targets by least squares"
# A claim about problem (16), which has been solved for least-squares targets alone.
of_relaxed = sharing("adaptive-", figure=None, experiments=(BY_LEAST_SQUARES,))
# Beyond this mean squared error a network has not fitted its targets, and decides nothing.
FITTED = 1e-3


def claim_of_networks(
    name: str,
    *,
    statistic: Statistic,
    figure: str | None = None,
    also: tuple[str, Statistic] | None = None,
    **fields: Any,
) -> Claim:
    """A claim about the networks of Figure 1, decided by those whose targets SGD made, as the
    authors' code makes them; beside it stands what least-squares targets give."""
    beside = (LEAST_SQUARES, only((BY_LEAST_SQUARES,), statistic))
    if also:
        beside = also[0], together(only((BY_SGD,), also[1]), with_words(*beside))
    return Claim(
        id=f"adaptive-{name}",
        figure=figure,
        experiments=(BY_SGD, BY_LEAST_SQUARES),
        statistic=only((BY_SGD,), statistic),
        also=beside,
        **fields,
    )


def by_task(number: Number, tasks: Sequence[str], **options: Any) -> Statistic:
    """A number of each network trained on one of these tasks, the panel if there are two."""

    def cases(records: Sequence[Record]) -> Iterator[Case]:
        for record in records:
            for (task, seed), own in of_networks(read(number, record, options), [TASK, "seed"]):
                if task in tasks:
                    panel = str(task) if len(tasks) > 1 else ""
                    yield from named(panel, int(str(seed)), number(**own, **options))

    return cases


def by_pair(
    number: Number, /, panels: Panels = None, counts: Counts = None, **options: Any
) -> Statistic:
    """A number of the network trained on signs less that of the other one, for each seed; `counts`
    tells of a run the seeds that do. A network that diverged has no rows, and its pair decides
    nothing."""

    def cases(records: Sequence[Record]) -> Iterator[Case]:
        for record in records:
            numbers = {
                (str(task), int(str(seed))): number(**own, **options)
                for (task, seed), own in of_networks(read(number, record, options), [TASK, "seed"])
            }
            for seed in sorted({seed for _, seed in numbers} if counts is None else counts(record)):
                if {(SIGN, seed), (LINEAR, seed)} <= numbers.keys():
                    gap = numbers[SIGN, seed] - numbers[LINEAR, seed]
                    yield from named(panel_of(record, panels), seed, gap)

    return cases


def training_errors(evals: pd.DataFrame) -> pd.Series:
    """The mean of (f - y)^2 at the end, by task and seed; the run's own loss is half of it."""
    return 2 * rows(evals, "train").groupby([TASK, "seed"])["loss"].last()


def fitted_seeds(record: Record) -> set[int]:
    """The seeds of which both networks have fitted their targets."""
    worst = training_errors(record.tables["evals"]).unstack(level=0)
    good = worst[(worst <= FITTED).all(axis=1) & worst.notna().all(axis=1)]
    return {int(str(seed)) for seed in good.index}


def cosine(adapted_cosines: pd.DataFrame, first: str, second: str) -> float:
    """The cosine of these two kernels of a network."""
    of_first = adapted_cosines[adapted_cosines["first"] == first]
    return float(of_first.loc[of_first["second"] == second, "cosine"].iloc[0])


def fifths(adapted_fifths: pd.DataFrame, statistic: str) -> float:
    """The mean over the examples nearest to y = 0 over that over the farthest."""
    row = adapted_fifths[adapted_fifths["statistic"] == statistic].iloc[0]
    return float(row["low"] / row["high"])


def at_layer(adapted_layers: pd.DataFrame, column: str, layer: str) -> float:
    chosen = adapted_layers[adapted_layers["layer"] == layer]
    return float(chosen[column].iloc[0]) if len(chosen) else float(np.nan)
