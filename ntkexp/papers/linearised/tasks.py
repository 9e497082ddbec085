"""Networks and their linearisations, for figures and claims: a row a task, a size of the training
set, or a linearisation at later weights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from ntkexp.results.numbers.evals import last
from ntkexp.results.record import Record

INDEX = "data.index"
# The training loss to which steps are counted; a model that ends above it is drawn open.
TRAINED = 0.01
# A model that ends with fewer of its training labels right is drawn as a cross.
LEARNED = 0.9
# More than half of the way from chance: a model that has not learned so much cannot be compared.
LEARNED_BY_MOST = 0.75
# The linearisations of an experiment's networks are another experiment's.
LINEAR = "_linear"
# The experiment of linearisations at a network's last weights.
LATE = "_late"
SIZE = "data.train_examples"
# The images of the whole training set, whose option is null.
WHOLE = 50_000
NETS = {"mlp": "MLP", "lenet": "LeNet", "resnet18": "ResNet18"}
STEPS = "linearised/sizes_steps"
# Updates of an epoch: 50,000 images in batches of 128, without the smaller last one.
EPOCH = 390
# (network, its linearisations at weights along its training) -> what they are trained on
ALONG_TRAINING = {
    ("linearised/moving", "linearised/late"): "the 100th eigenfunction",
    ("linearised/cifar2_mlp", "linearised/late_cifar2"): "CIFAR2",
}
# Figure 8: networks with linearisations at their last weights, whose norms have the statistics of
# the trained network, or the first ones.
SOLUTIONS = ("linearised/resnet18", "linearised/cifar2_resnet18")
# ResNet18 in two readings of the text: its "standard ResNet18", with residual branches from the
# first step on, and the released code's, whose branches are off at first.
STANDARD = "_standard"
READINGS = {STANDARD: "branches on", "": "branches off"}
RESET = "weights.reset_statistics"
MODELS = {
    "network": "network",
    "early": "linearised at θ₀",
    "stored": "at θ_T, statistics stored",
    "reset": "at θ_T, statistics reset",
}
TITLES = {
    "linearised/mlp": "MLP",
    "linearised/mlp_seeds": "MLP",
    "linearised/mlp_adam": "MLP, Adam",
    "linearised/mlp_mnist": "MLP, MNIST",
    "linearised/lenet": "LeNet",
    "linearised/lenet_adam": "LeNet, Adam",
    "linearised/lenet_mnist": "LeNet, MNIST",
    "linearised/resnet18": "ResNet18",
    "linearised/resnet18_standard": "ResNet18",
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
    "linearised/cifar2_resnet18_standard": "ResNet18, CIFAR2",
}


def experiments(*networks: str) -> tuple[str, ...]:
    """These experiments, each with that of its linearisations."""
    return tuple(name + end for name in networks for end in ("", LINEAR))


def of_network(experiment: str) -> str:
    """The word of a network and its linearisation, which are judged on runs of one scale."""
    return experiment.removesuffix(LINEAR)


def readings(network: str, *ends: str) -> dict[str, str]:
    """The reading of each of a ResNet18's experiments, of those with these ends."""
    return {network + which + end: READINGS[which] for which in READINGS for end in ends}


def read(records: Sequence[Record], network: str) -> str:
    """The network of the reading that these runs are of."""
    found = {record.experiment for record in records}
    return network + STANDARD if any((network + STANDARD) in name for name in found) else network


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
    (infinite where it was not reached), and of one minibatch an epoch where `steps` are kept; and
    the weights' distance and cosine distance from the first ones. The runs are those of one
    experiment and seed."""
    ends = last_looks(records)
    wide = ends.pivot(index=INDEX, columns="split", values=["loss", "accuracy"])
    frame = pd.DataFrame(
        {
            "accuracy": wide["accuracy"]["test"],
            "train_loss": wide["loss"]["train"],
            "train_accuracy": wide["accuracy"]["train"],
            "updates": ends.groupby(INDEX)["step"].max(),
        }
    )
    reached, events = pd.Series(dtype=float), by_task(records, "events")
    if len(events):
        below = events[(events["event"] == "train_loss") & (events["threshold"] == TRAINED)]
        reached = below.groupby(INDEX)["step"].min().astype(float)
    frame["steps"] = reached.reindex(frame.index).fillna(np.inf)
    if len(logged := by_task(records, "steps")):
        low = logged[(logged["train_loss"] < TRAINED) & (logged["step"] % EPOCH == 0)]
        frame["logged"] = low.groupby(INDEX)["step"].min().reindex(frame.index).fillna(np.inf)
    if len(moved := by_task(records, "distance")):
        final = moved.sort_values("step").groupby(INDEX).last()
        frame[["distance", "cosine_distance"]] = final[["distance", "cosine_distance"]]
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


def net_of(record: Record) -> str:
    """`mlp`, `lenet` or `resnet18`, by an experiment's name."""
    return record.experiment.rpartition("/")[2].split("_")[1]


def by_size(records: Iterable[Record]) -> pd.DataFrame:
    """A row a run of `sizes_*`: net, whose (network or linear), size, seed, accuracy, distance."""
    rows = []
    for record in records:
        if not record.experiment.startswith("linearised/sizes_") or record.experiment == STEPS:
            continue
        moved = record.tables["distance"].sort_values("step")["distance"]
        rows.append(
            {
                "net": net_of(record),
                "whose": "linear" if record.experiment.endswith(LINEAR) else "network",
                "size": int(record.config.get(SIZE) or WHOLE),
                "seed": record.seed,
                "accuracy": last(record.tables["evals"]),
                "distance": float(moved.iloc[-1]),
            }
        )
    columns = ["net", "whose", "size", "seed", "accuracy", "distance"]
    return pd.DataFrame(rows, columns=columns)


def gaps(frame: pd.DataFrame, net: str) -> pd.DataFrame:
    """Accuracy of the network less that of its linearisation, (seeds, sizes)."""
    accuracies = frame[frame["net"] == net].set_index(["seed", "size", "whose"])["accuracy"]
    wide = accuracies.unstack("whose")
    if not {"network", "linear"} <= {*wide}:
        return pd.DataFrame()
    gap: pd.DataFrame = (wide["network"] - wide["linear"]).unstack("size")
    return gap


def late(records: Sequence[Record]) -> pd.DataFrame:
    """A row a linearisation: the epoch of its weights, its test accuracy, the distance from those
    weights when its training loss first was `TRAINED`, or at its end where it never was."""
    rows = []
    for record in records:
        moved = record.tables["distance"].sort_values("step").set_index("step")["distance"]
        events = record.tables.get("events", pd.DataFrame(columns=["event", "threshold", "step"]))
        below = events[(events["event"] == "train_loss") & (events["threshold"] == TRAINED)]
        reached = len(below) > 0
        rows.append(
            {
                "epoch": epoch(record),
                "accuracy": last(record.tables["evals"]),
                "distance": float(moved.loc[below["step"].min()] if reached else moved.iloc[-1]),
                "reached": reached,
            }
        )
    return pd.DataFrame(rows).sort_values("epoch", ignore_index=True)


def epoch(record: Record) -> float:
    """The epoch of the weights at which it is linearised."""
    return int(record.config["weights.file"].split(".")[1]) / EPOCH


def with_late(network: str) -> tuple[str, str, str]:
    """An experiment, that of its linearisations and that of those at its last weights."""
    return network, network + LINEAR, network + LATE


def by_model(records: Sequence[Record], network: str) -> dict[str, list[Record]]:
    """The runs of each of `MODELS` that has some."""
    runs: dict[str, list[Record]] = {}
    for record in records:
        if record.experiment == network + LATE:
            runs.setdefault("reset" if record.config[RESET] else "stored", []).append(record)
        elif record.experiment == network + LINEAR:
            runs.setdefault("early", []).append(record)
        elif record.experiment == network:
            runs.setdefault("network", []).append(record)
    return {model: runs[model] for model in MODELS if model in runs}


def task_of(runs: dict[str, list[Record]]) -> int | None:
    """The j of the late linearisations, 0 on CIFAR2; None without any."""
    late = [record for model in ("stored", "reset") for record in runs.get(model, ())]
    return int(late[0].config.get(INDEX, 0)) if late else None


def ends(records: Sequence[Record], network: str) -> pd.DataFrame:
    """A row a model, with the columns of `tasks`, on the task of the late linearisations."""
    runs = by_model(records, network)
    index = task_of(runs)
    tables = {model: tasks(of_model) for model, of_model in runs.items()}
    return pd.DataFrame({m: t.loc[index] for m, t in tables.items() if index in t.index}).T


def looks(records: Sequence[Record], network: str) -> pd.DataFrame:
    """All models' rows of `evals`, with a column `model`; none without a late linearisation."""
    runs = by_model(records, network)
    if task_of(runs) is None:
        return pd.DataFrame()
    evals = [by_task(of_model, "evals").assign(model=model) for model, of_model in runs.items()]
    rows = pd.concat(evals)
    return rows[(rows[INDEX] == task_of(runs)) & (rows["subset"] == "all")].sort_values("step")
