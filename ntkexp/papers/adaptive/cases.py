"""Numbers of the networks in a run of members, by task and seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import pandas as pd

from ntkexp.claims.claim import Case, Statistic, sharing
from ntkexp.results.record import Record

TASK = "data.targets"
LINEAR, SIGN = "linear", "sign"
HIDDEN, LAST = ("hidden1", "hidden2"), "output"
# A claim about the networks of Figure 1; most are of the text.
of_networks = sharing("adaptive-", figure=None, experiments=("adaptive/label_kernel",))
# Beyond this mean squared error a network has not fitted its targets, and decides nothing.
FITTED = 1e-3


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
