"""Networks and their linearisations on CIFAR2: accuracy and distance by the size of the training
set, and energy concentration along training."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from ntkexp.papers.linearised.tasks import LINEAR
from ntkexp.results.record import Record

SIZE = "data.train_examples"
# The images of the whole training set, whose option is null.
WHOLE = 50_000
NETS = {"mlp": "MLP", "lenet": "LeNet", "resnet18": "ResNet18"}
STEPS = "linearised/sizes_steps"


def net_of(record: Record) -> str:
    """`mlp`, `lenet` or `resnet18`, by an experiment's name."""
    return record.experiment.rpartition("/")[2].split("_")[1]


def last_accuracy(record: Record) -> float:
    """Of the test images, at the last look."""
    evals = record.tables["evals"]
    chosen = evals[(evals["split"] == "test") & (evals["subset"] == "all")]
    return float(chosen.sort_values("step")["accuracy"].iloc[-1])


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
                "accuracy": last_accuracy(record),
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


def energies(records: Sequence[Record]) -> dict[str, pd.DataFrame]:
    """By net the table of energy concentrations of its run on CIFAR2, by step."""
    return {
        net_of(record): record.tables["energy_concentration"].set_index("step").sort_index()
        for record in records
        if "energy_concentration" in record.tables
    }
