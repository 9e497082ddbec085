"""Networks and their linearisations on tasks, a row a task: what figures and claims read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from ntkexp.results.record import Record

INDEX = "data.index"
# The training loss up to which a network counts as trained, and steps are counted.
TRAINED = 0.01
# The linearisations of an experiment's networks are another experiment's.
LINEAR = "_linear"
TITLES = {
    "linearised/mlp": "MLP",
    "linearised/mlp_seeds": "MLP",
    "linearised/mlp_adam": "MLP, Adam",
    "linearised/mlp_mnist": "MLP, MNIST",
}


def experiments(*networks: str) -> tuple[str, ...]:
    """These experiments, each with that of its linearisations."""
    return tuple(name + end for name in networks for end in ("", LINEAR))


def last_looks(record: Record) -> pd.DataFrame:
    """The row of `evals` of each task and split at its last step."""
    evals = record.tables["evals"]
    evals = evals[evals["subset"] == "all"]
    return evals[evals["step"] == evals.groupby(INDEX)["step"].transform("max")]


def tasks(record: Record) -> pd.DataFrame:
    """By index j of the eigenfunction: test accuracy, last training loss, steps to `TRAINED` of
    the running mean over minibatches (infinite where it was not reached), and the weights' distance
    and cosine distance from the first ones."""
    wide = last_looks(record).pivot(index=INDEX, columns="split", values=["loss", "accuracy"])
    frame = pd.DataFrame(
        {"accuracy": wide["accuracy"]["test"], "train_loss": wide["loss"]["train"]}
    )
    events = record.tables.get("events")
    reached = pd.Series(dtype=float)
    if events is not None:
        below = events[(events["event"] == "train_loss") & (events["threshold"] == TRAINED)]
        reached = below.groupby(INDEX)["step"].min().astype(float)
    frame["steps"] = reached.reindex(frame.index).fillna(np.inf)
    if "distance" in record.tables:
        moved = record.tables["distance"].sort_values("step").groupby(INDEX).last()
        frame[["distance", "cosine_distance"]] = moved[["distance", "cosine_distance"]]
    return frame.sort_index()


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
        """Test accuracy of the network less that of its linearisation, where the network is
        trained."""
        trained = self.network["train_loss"] <= TRAINED
        gap: pd.Series = (self.network["accuracy"] - self.linear["accuracy"])[trained]
        return gap


def pairs(records: Sequence[Record]) -> Iterator[Pair]:
    """Each network run with that of its linearisations, by experiment and seed."""
    linear = {
        (record.experiment.removesuffix(LINEAR), record.seed): tasks(record)
        for record in records
        if record.experiment.endswith(LINEAR)
    }
    for record in sorted(records, key=lambda one: (one.experiment, one.seed)):
        if (of := linear.get((record.experiment, record.seed))) is not None:
            network = tasks(record)
            both = network.index.intersection(of.index)
            yield Pair(record.experiment, record.seed, network.loc[both], of.loc[both])


def each_task(found: Iterable[Pair]) -> pd.DataFrame:
    """All tasks in one table, for drawing: experiment, seed, whose, and the columns of `tasks`."""
    rows = [
        frame.reset_index().assign(experiment=pair.experiment, seed=pair.seed, whose=whose)
        for pair in found
        for whose, frame in (("network", pair.network), ("linear", pair.linear))
    ]
    return pd.concat(rows, ignore_index=True)
