"""Numbers that statements on tasks are judged by: ranks over j, gaps to the linearisation, and how
training ends."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from ntkexp.claims.claim import Case, Statistic
from ntkexp.papers.linearised.cifar2 import SIZE, WHOLE
from ntkexp.papers.linearised.late import EPOCH
from ntkexp.papers.linearised.tasks import (
    INDEX,
    LINEAR,
    TITLES,
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


def rank(frame: pd.DataFrame, column: str) -> float:
    """Spearman's correlation of j with a column, without the last digit: .9 of five tasks is .9."""
    return round(float(spearmanr(frame.index.to_numpy(dtype=float), frame[column]).statistic), 9)


def ranks(column: str) -> Statistic:
    """A case for the tasks of an experiment and seed; its panel says whose they are. A task without
    a number is left out, for ties at the end lower the highest correlation there can be (eight of
    thirteen: .88). Fewer tasks than `FEW` say nothing."""

    def cases(records: Sequence[Record]) -> Iterable[Case]:
        for (experiment, seed), frame in of_seeds(records).items():
            counted = frame[np.isfinite(frame[column])]
            if len(counted) >= FEW:
                yield Case(title(experiment), seed, rank(counted, column))

    return cases


def concordance(frame: pd.DataFrame) -> float:
    """Of the pairs of tasks of which one comes to the loss, or both, the share in which the one of
    the smaller j is sooner; who never comes there is last."""
    steps = frame["steps"].to_numpy(dtype=float)
    early, late = np.triu_indices(len(steps), 1)
    decided = np.isfinite(np.minimum(steps[early], steps[late]))
    return float((steps[early] < steps[late])[decided].mean())


def beside_ranks(column: str) -> Statistic:
    """The correlation without tasks that take less than an epoch, whose labels are nearly all the
    same; for steps the concordance as well, which leaves no task out."""

    def cases(records: Sequence[Record]) -> Iterable[Case]:
        for (experiment, seed), frame in of_seeds(records).items():
            slow = frame[np.isfinite(frame[column]) & (frame["steps"] >= EPOCH)]
            if len(slow) >= FEW:
                yield Case(f"{title(experiment)}, {len(slow)} tasks", seed, rank(slow, column))
            if column == "steps":
                name = f"{title(experiment)}, concordance of {len(frame)}"
                yield Case(name, seed, concordance(frame))

    return cases


def of_experiment(name: str, statistic: Statistic) -> Statistic:
    """The statistic of this experiment's runs alone."""
    return lambda records: statistic([run for run in records if run.experiment == name])


def of_pairs(value: Callable[[Pair], float]) -> Statistic:
    """A case for a network and its linearisation."""

    def cases(records: Sequence[Record]) -> Iterable[Case]:
        for pair in pairs(records):
            yield Case(pair.title, pair.seed, value(pair))

    return cases


def largest_gap(pair: Pair) -> float:
    gap = pair.gap
    return float(gap[gap.index >= FROM].max())


def mean_gap(pair: Pair) -> float:
    gap = pair.gap
    return float(gap[gap.index >= FROM].mean())


def reached_later(pair: Pair) -> float:
    """The share of tasks in which the network came to the loss no sooner than its linearisation, of
    those where one of them came there; who never does is last."""
    network, linear = pair.network["steps"], pair.linear["steps"]
    came = np.isfinite(network) | np.isfinite(linear)
    return float((network >= linear)[came].mean()) if came.any() else math.nan


def agreement(pair: Pair) -> float:
    """Spearman's correlation of the accuracies; two or three tasks say nothing."""
    if len(pair.gap) < FEW:
        return math.nan
    return float(spearmanr(pair.network["accuracy"], pair.linear["accuracy"]).statistic)


def learned_gap(pair: Pair) -> float:
    """The mean gap over the tasks of which the linearisation has learned its training labels by
    more than half of the way from chance."""
    return float(pair.gap[(pair.gap.index >= FROM) & (pair.linear["train_accuracy"] > 0.75)].mean())


def sizes_as_tasks(statistic: Statistic) -> Statistic:
    """The statistic with the numbers of CIFAR2's images in place of j."""

    def cases(records: Sequence[Record]) -> Iterable[Case]:
        return statistic([
            replace(record, config={**record.config, INDEX: record.config[SIZE] or WHOLE})
            if record.experiment in SIZES else record
            for record in records
        ])  # fmt: skip

    return cases


def last_change(records: Sequence[Record]) -> Iterable[Case]:
    """The largest change of a test accuracy in the last seven tenths of training, over tasks."""
    for (experiment, seed), runs in runs_of_seeds(records).items():
        evals = by_task(runs, "evals")
        test = evals[(evals["split"] == "test") & (evals["subset"] == "all")]
        accuracies = test.pivot(index="step", columns=INDEX, values="accuracy")
        late = accuracies.index[-1] * 3 // 10
        change = (accuracies.iloc[-1] - accuracies.loc[late]).to_numpy(dtype=float)
        yield Case(title(experiment), seed, float(np.abs(change).max()))


def highest_loss(records: Sequence[Record]) -> Iterable[Case]:
    """The highest training loss of the networks at their ends, over tasks."""
    for (experiment, seed), frame in of_seeds(records).items():
        yield Case(TITLES[experiment], seed, float(frame["train_loss"].max()))


def drops(records: Sequence[Record]) -> Iterable[Case]:
    """The fall of accuracy from the first task to the last, where there are few."""
    for (experiment, seed), frame in of_seeds(records).items():
        if len(frame) > 1:
            fall = frame["accuracy"].iloc[0] - frame["accuracy"].iloc[-1]
            yield Case(title(experiment), seed, float(fall))


def crossing(pair: Pair) -> float:
    """The smaller size of the gaps at 300 and 700; negative where both are on one side."""
    if not {300, 700} <= {*pair.gap.index}:
        return float("nan")
    early, late = pair.gap[300], pair.gap[700]
    size = min(abs(early), abs(late))
    return float(size if early * late < 0 else -size)
