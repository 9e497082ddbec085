"""Networks and their linearisations on tasks, a row a task: what figures and claims read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from ntkexp.results.record import Record

INDEX = "data.index"
# The training loss to which steps are counted; a model that ends above it is drawn open.
TRAINED = 0.01
# A model that ends with fewer of its training labels right is drawn as a cross.
LEARNED = 0.9
# The linearisations of an experiment's networks are another experiment's.
LINEAR = "_linear"
TITLES = {
    "linearised/mlp": "MLP",
    "linearised/mlp_seeds": "MLP",
    "linearised/mlp_adam": "MLP, Adam",
    "linearised/mlp_mnist": "MLP, MNIST",
    "linearised/lenet": "LeNet",
    "linearised/lenet_adam": "LeNet, Adam",
    "linearised/lenet_mnist": "LeNet, MNIST",
    "linearised/resnet18": "ResNet18",
    "linearised/resnet18_one": "ResNet18",
    "linearised/separable": "LeNet, linear tasks",
    "linearised/sizes_mlp": "MLP, parts of CIFAR2",
    "linearised/whose_seed": "MLP, another's tasks",
    "linearised/whose_lenet": "MLP, LeNet's tasks",
    "linearised/whose_lenet_seed": "LeNet, another's task",
    "linearised/whose_extended": "MLP, tasks of training images",
    "linearised/cifar2_mlp": "MLP, CIFAR2",
    "linearised/cifar2_lenet": "LeNet, CIFAR2",
    "linearised/cifar2_resnet18": "ResNet18, CIFAR2",
}


def experiments(*networks: str) -> tuple[str, ...]:
    """These experiments, each with that of its linearisations."""
    return tuple(name + end for name in networks for end in ("", LINEAR))


def by_task(records: Sequence[Record], table: str) -> pd.DataFrame:
    """The rows of a table of several runs, with a column for j; a run of one task has its j in its
    config, a run on other data gets 0."""
    frames = [
        frame if INDEX in frame else frame.assign(**{INDEX: record.config.get(INDEX, 0)})
        for record in records
        if (frame := record.tables.get(table)) is not None
    ]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def last_looks(records: Sequence[Record]) -> pd.DataFrame:
    """The row of `evals` of each task and split at its last step."""
    evals = by_task(records, "evals")
    evals = evals[evals["subset"] == "all"]
    return evals[evals["step"] == evals.groupby(INDEX)["step"].transform("max")]


def tasks(records: Sequence[Record]) -> pd.DataFrame:
    """By index j of the eigenfunction: at the last look the test accuracy, the training loss and
    accuracy, and the number of updates; steps to `TRAINED` of the running mean over minibatches
    (infinite where it was not reached); and the weights' distance and cosine distance from the
    first ones. The runs are those of one experiment and seed."""
    last = last_looks(records)
    wide = last.pivot(index=INDEX, columns="split", values=["loss", "accuracy"])
    frame = pd.DataFrame(
        {
            "accuracy": wide["accuracy"]["test"],
            "train_loss": wide["loss"]["train"],
            "train_accuracy": wide["accuracy"]["train"],
            "updates": last.groupby(INDEX)["step"].max(),
        }
    )
    reached, events = pd.Series(dtype=float), by_task(records, "events")
    if len(events):
        below = events[(events["event"] == "train_loss") & (events["threshold"] == TRAINED)]
        reached = below.groupby(INDEX)["step"].min().astype(float)
    frame["steps"] = reached.reindex(frame.index).fillna(np.inf)
    if len(moved := by_task(records, "distance")):
        ends = moved.sort_values("step").groupby(INDEX).last()
        frame[["distance", "cosine_distance"]] = ends[["distance", "cosine_distance"]]
    return frame.sort_index()


def runs_of_seeds(records: Iterable[Record]) -> dict[tuple[str, int], list[Record]]:
    """The runs of each experiment and seed."""
    runs: dict[tuple[str, int], list[Record]] = {}
    for record in records:
        runs.setdefault((record.experiment, record.seed), []).append(record)
    return dict(sorted(runs.items()))


def of_seeds(records: Iterable[Record]) -> dict[tuple[str, int], pd.DataFrame]:
    """The tasks of each experiment and seed."""
    return {key: tasks(group) for key, group in runs_of_seeds(records).items()}


class Pair(NamedTuple):
    """The tasks of a network and of its linearisation, by j; those that both have."""

    experiment: str
    seed: int
    network: pd.DataFrame
    linear: pd.DataFrame

    @property
    def title(self) -> str:
        return TITLES[self.experiment]

    @property
    def gap(self) -> pd.Series:
        """Test accuracy of the network less that of its linearisation."""
        return self.network["accuracy"] - self.linear["accuracy"]


def pairs(records: Iterable[Record]) -> Iterator[Pair]:
    """Each network with its linearisation, by experiment and seed."""
    by_seed = of_seeds(records)
    for (experiment, seed), network in by_seed.items():
        if (linear := by_seed.get((experiment + LINEAR, seed))) is not None:
            both = network.index.intersection(linear.index)
            yield Pair(experiment, seed, network.loc[both], linear.loc[both])


def each_task(chosen: Iterable[Pair]) -> pd.DataFrame:
    """All tasks in one table, for drawing: experiment, seed, whose, and the columns of `tasks`."""
    rows = [
        frame.reset_index().assign(experiment=pair.experiment, seed=pair.seed, whose=whose)
        for pair in chosen
        for whose, frame in (("network", pair.network), ("linear", pair.linear))
    ]
    return pd.concat(rows, ignore_index=True)
