"""Numbers of the networks in a run of members, by task and seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ntkexp.claims.claim import Case, Claim, Statistic, sharing
from ntkexp.results.record import Record

TASK = "data.targets"
LINEAR, SIGN = "linear", "sign"
HIDDEN, LAST = ("hidden1", "hidden2"), "output"
BY_SGD, BY_LEAST_SQUARES = "adaptive/label_kernel_sgd", "adaptive/label_kernel"
LEAST_SQUARES = "targets by least squares"
# A claim about problem (16), which has been solved for least-squares targets alone.
of_relaxed = sharing("adaptive-", figure=None, experiments=(BY_LEAST_SQUARES,))
# Beyond this mean squared error a network has not fitted its targets, and decides nothing.
FITTED = 1e-3


def of_networks(
    name: str,
    *,
    statistic: Statistic,
    figure: str | None = None,
    also: tuple[str, Statistic] | None = None,
    **fields: Any,
) -> Claim:
    """A claim about the networks of Figure 1, decided by those whose targets SGD made, as the
    authors' code makes them; beside it stands what least-squares targets give."""
    beside = (LEAST_SQUARES, among_runs_of(BY_LEAST_SQUARES, statistic))
    if also:
        beside = also[0], together(among_runs_of(BY_SGD, also[1]), named(*beside))
    return Claim(
        id=f"adaptive-{name}",
        figure=figure,
        experiments=(BY_SGD, BY_LEAST_SQUARES),
        statistic=among_runs_of(BY_SGD, statistic),
        also=beside,
        **fields,
    )


def among_runs_of(experiment: str, statistic: Statistic) -> Statistic:
    return lambda records: statistic([run for run in records if run.experiment == experiment])


def together(*statistics: Statistic) -> Statistic:
    return lambda records: [case for statistic in statistics for case in statistic(records)]


def named(words: str, statistic: Statistic) -> Statistic:
    """The same cases, with words that tell their panels from those of other statistics."""
    return lambda records: [
        case._replace(panel=f"{case.panel}, {words}" if case.panel else words)
        for case in statistic(records)
    ]


def of_tasks(table: str, value: Callable[[pd.DataFrame], float], tasks: Sequence[str]) -> Statistic:
    """One case a network trained on one of these tasks; the task is the panel if there are two."""

    def cases(records: Sequence[Record]) -> Iterable[Case]:
        for record in records:
            for (task, seed), frame in record.tables[table].groupby([TASK, "seed"]):
                if task in tasks:
                    panel = str(task) if len(tasks) > 1 else ""
                    yield Case(panel, int(str(seed)), value(frame))

    return cases


def differences(
    table: str, value: Callable[[pd.DataFrame], float], panel: str = ""
) -> Callable[[Record], Iterator[Case]]:
    """One case a seed: the number of the network trained on signs less that of the other one."""

    def cases(record: Record) -> Iterator[Case]:
        groups = record.tables[table].groupby([TASK, "seed"])
        numbers = pd.Series({key: value(frame) for key, frame in groups})
        # A network that diverged has no rows, and its pair decides nothing.
        pairs = numbers.unstack(level=0).reindex(columns=[LINEAR, SIGN])
        for seed, row in pairs.dropna().iterrows():
            yield Case(panel, int(str(seed)), float(row[SIGN] - row[LINEAR]))

    return cases


def of_pairs(table: str, value: Callable[[pd.DataFrame], float]) -> Statistic:
    """The differences of every run."""
    each = differences(table, value)
    return lambda records: [case for record in records for case in each(record)]


def training_errors(record: Record) -> pd.Series:
    """The mean of (f - y)^2 at the end, by task and seed; the run's own loss is half of it."""
    evals = record.tables["evals"]
    chosen = evals[(evals["split"] == "train") & (evals["subset"] == "all")]
    last = chosen.sort_values("step").groupby([TASK, "seed"])["loss"].last()
    return 2 * last


def fitted_seeds(record: Record) -> set[int]:
    """The seeds of which both networks have fitted their targets."""
    worst = training_errors(record).unstack(level=0)
    good = worst[(worst <= FITTED).all(axis=1) & worst.notna().all(axis=1)]
    return {int(str(seed)) for seed in good.index}


def cosine(first: str, second: str) -> Callable[[pd.DataFrame], float]:
    """A function of one network's rows that gives the cosine of these two kernels."""

    def value(rows: pd.DataFrame) -> float:
        chosen = rows[(rows["first"] == first) & (rows["second"] == second)]
        return float(chosen["cosine"].iloc[0])

    return value


def fifths(statistic: str) -> Callable[[pd.DataFrame], float]:
    """The mean over the examples nearest to y = 0 over that over the farthest."""

    def value(rows: pd.DataFrame) -> float:
        row = rows[rows["statistic"] == statistic].iloc[0]
        return float(row["low"] / row["high"])

    return value


def at_layer(column: str, layer: str) -> Callable[[pd.DataFrame], float]:
    def value(rows: pd.DataFrame) -> float:
        chosen = rows[rows["layer"] == layer]
        return float(chosen[column].iloc[0]) if len(chosen) else float(np.nan)

    return value
