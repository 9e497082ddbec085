"""Figure 8: a network, its linearisation at its first weights, and those at its last weights."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from ntkexp.papers.linearised.tasks import INDEX, LINEAR, by_task, tasks
from ntkexp.results.record import Record

LATE = "_late"
NETWORKS = ("linearised/resnet18", "linearised/cifar2_resnet18")
# The norms of a late linearisation have the statistics of the trained network, or the first ones.
RESET = "weights.reset_statistics"
MODELS = {
    "network": "network",
    "early": "linearised at θ₀",
    "stored": "at θ_T, statistics stored",
    "reset": "at θ_T, statistics reset",
}


def experiments(network: str) -> tuple[str, str, str]:
    return network, network + LINEAR, network + LATE


def runs_of(records: Sequence[Record], network: str) -> dict[str, list[Record]]:
    """The runs of each of `MODELS` that has some."""
    by_model: dict[str, list[Record]] = {}
    for record in records:
        if record.experiment == network + LATE:
            by_model.setdefault("reset" if record.config[RESET] else "stored", []).append(record)
        elif record.experiment == network + LINEAR:
            by_model.setdefault("early", []).append(record)
        elif record.experiment == network:
            by_model.setdefault("network", []).append(record)
    return {model: by_model[model] for model in MODELS if model in by_model}


def task(runs: dict[str, list[Record]]) -> int | None:
    """The j of the late linearisations, 0 on CIFAR2; None without any."""
    late = [record for model in ("stored", "reset") for record in runs.get(model, ())]
    return int(late[0].config.get(INDEX, 0)) if late else None


def ends(records: Sequence[Record], network: str) -> pd.DataFrame:
    """A row a model, with the columns of `tasks`, on the task of the late linearisations."""
    runs = runs_of(records, network)
    index = task(runs)
    tables = {model: tasks(of_model) for model, of_model in runs.items()}
    return pd.DataFrame({m: t.loc[index] for m, t in tables.items() if index in t.index}).T


def looks(records: Sequence[Record], network: str) -> pd.DataFrame:
    """All models' rows of `evals`, with a column `model`; none without a late linearisation."""
    runs = runs_of(records, network)
    if task(runs) is None:
        return pd.DataFrame()
    evals = [by_task(of_model, "evals").assign(model=model) for model, of_model in runs.items()]
    rows = pd.concat(evals)
    return rows[(rows[INDEX] == task(runs)) & (rows["subset"] == "all")].sort_values("step")
