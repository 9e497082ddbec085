"""Numbers that statements on tasks are judged by: ranks over j, gaps to the linearisation, and how
training ends."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ntkexp.claims.claim import Case
from ntkexp.claims.curves import spearman
from ntkexp.claims.statistics import Group, by
from ntkexp.papers.linearised.tasks import (
    EPOCH,
    INDEX,
    LEARNED_BY_MOST,
    LINEAR,
    SIZE,
    TITLES,
    WHOLE,
    Pair,
    by_task,
    experiments,
    of_seeds,
    pairs,
    runs_of_seeds,
)
from ntkexp.results.record import Record

# From here on the network is worse than its linearisation.
FROM = 10
FEW = 4
SIZES = experiments("linearised/sizes_mlp")


def title(experiment: str) -> str:
    """Whose tasks they are: `MLP, network`."""
    whose = "linearisation" if experiment.endswith(LINEAR) else "network"
    return f"{TITLES[experiment.removesuffix(LINEAR)]}, {whose}"


def each_model(records: Sequence[Record]) -> Iterator[Group]:
    """(panel, seed, its tasks) of each network and of each linearisation."""
    for (experiment, seed), frame in of_seeds(records).items():
        yield title(experiment), seed, frame


def each_network(records: Sequence[Record]) -> Iterator[Group]:
    for (experiment, seed), frame in of_seeds(records).items():
        yield TITLES[experiment], seed, frame


def evals_of_models(records: Sequence[Record]) -> Iterator[Group]:
    for (experiment, seed), runs in runs_of_seeds(records).items():
        yield title(experiment), seed, by_task(runs, "evals")


def each_pair(records: Sequence[Record]) -> Iterator[Group]:
    """(panel, seed, the tasks of a network and of its linearisation)."""
    for pair in pairs(records):
        yield pair.title, pair.seed, pair


def each_size(records: Sequence[Record]) -> Iterator[Group]:
    """The same, with the numbers of CIFAR2's images in place of j."""
    return each_pair([
        replace(record, config={**record.config, INDEX: record.config[SIZE] or WHOLE})
        if record.experiment in SIZES else record
        for record in records
    ])  # fmt: skip


by_model, by_pair = by(each_model), by(each_pair)


def rank(frame: pd.DataFrame, column: str) -> float:
    """Spearman's correlation of j with a column, without the last digit: .9 of five tasks is .9.

    A task without a number is left out, for ties at the end lower the highest correlation there can
    be (eight of thirteen: .88). Fewer tasks than `FEW` say nothing.
    """
    counted = frame[np.isfinite(frame[column])]
    if len(counted) < FEW:
        return math.nan
    return round(spearman(counted.index.to_numpy(dtype=float), counted[column]), 9)


def rank_in_deviations(frame: pd.DataFrame, column: str) -> float:
    """The same over the deviation that it has without any order."""
    return rank(frame, column) * math.sqrt(np.isfinite(frame[column]).sum() - 1)


def beside_rank(frame: pd.DataFrame, column: str) -> dict[str, float]:
    """The correlation of all tasks, and without those that take less than an epoch, whose labels
    are nearly all the same; for steps the concordance as well, which leaves no task out."""
    known = frame[np.isfinite(frame[column])]
    found = {
        f"{len(part)} tasks": rank(part, column) for part in (known, known[known["steps"] >= EPOCH])
    }
    if column == "steps":
        found[f"concordance of {len(frame)}"] = concordance(frame)
    return found


def concordance(frame: pd.DataFrame) -> float:
    """Of the pairs of tasks of which one comes to the loss, or both, the share in which the one of
    the smaller j is sooner; who never comes there is last."""
    steps = frame["steps"].to_numpy(dtype=float)
    early, late = np.triu_indices(len(steps), 1)
    decided = np.isfinite(np.minimum(steps[early], steps[late]))
    return float((steps[early] < steps[late])[decided].mean())


def falling(frame: pd.DataFrame) -> float:
    """The correlation of j and accuracy over its deviation; of two tasks it is 1 or -1."""
    if len(frame) < 2:
        return math.nan
    order = spearman(frame.index.to_numpy(dtype=float), frame["accuracy"])
    return round(order * math.sqrt(len(frame) - 1), 9)


def counted(pair: Pair) -> pd.Series:
    """The gaps of tasks that the linearisation has learned."""
    learned = pair.linear["train_accuracy"] > LEARNED_BY_MOST
    gaps: pd.Series = pair.gap[(pair.gap.index >= FROM) & learned]
    return gaps


def largest_gap(pair: Pair) -> float:
    return float(counted(pair).max())


def learned_gap(pair: Pair) -> float:
    return float(counted(pair).mean())


def mean_gap(pair: Pair) -> float:
    """Over all tasks."""
    gap = pair.gap
    return float(gap[gap.index >= FROM].mean())


def both_logs(records: Sequence[Record]) -> Iterator[Case]:
    """`reached_later` by the running mean over minibatches and, where both models have it, by the
    authors' log, one minibatch an epoch."""
    found = [*each_size(records)]
    logged = [all("logged" in part for part in (pair.network, pair.linear)) for *_, pair in found]
    for (name, seed, pair), known in zip(found, logged, strict=True):
        mean = "running mean" if any(logged) else ""
        for column, reading in {"steps": mean, "logged": "one minibatch an epoch"}.items():
            if column == "steps" or known:
                yield Case(name, seed, reached_later(pair, column), reading)


def reached_later(pair: Pair, column: str = "steps") -> float:
    """The share of tasks in which the network came to the loss no sooner than its linearisation, of
    those where one of them came there; who never does is last."""
    network, linear = pair.network[column], pair.linear[column]
    came = np.isfinite(network) | np.isfinite(linear)
    return float((network >= linear)[came].mean()) if came.any() else math.nan


def agreement(pair: Pair) -> float:
    """Spearman's correlation of the accuracies; two or three tasks say nothing."""
    if len(pair.gap) < FEW:
        return math.nan
    return spearman(pair.network["accuracy"], pair.linear["accuracy"])


def last_change(evals: pd.DataFrame) -> float:
    """The largest change of a test accuracy in the last seven tenths of training, over tasks."""
    test = evals[(evals["split"] == "test") & (evals["subset"] == "all")]
    accuracies = test.pivot(index="step", columns=INDEX, values="accuracy")
    late = accuracies.index[-1] * 3 // 10
    change: Any = accuracies.iloc[-1] - accuracies.loc[late]
    return float(np.abs(change.to_numpy(dtype=float)).max())


def highest_loss(frame: pd.DataFrame) -> float:
    """The highest training loss at the end, over tasks."""
    return float(frame["train_loss"].max())


def crossing(pair: Pair) -> float:
    """The smaller size of the gaps at 300 and 700; negative where both are on one side."""
    if not {300, 700} <= {*pair.gap.index}:
        return math.nan
    early, late = pair.gap[300], pair.gap[700]
    size = min(abs(early), abs(late))
    return float(size if early * late < 0 else -size)
