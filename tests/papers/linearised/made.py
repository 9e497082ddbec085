"""Runs of networks and of their linearisations, as the probes would have left them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from ntkexp.papers.linearised.tasks import RESET, SOLUTIONS
from ntkexp.results.record import Record
from tests.papers import made
from tests.papers.made import SPLITS, rows

ALL = (1, 2, 5, 10, 20, 50, 100, 200, 300, 400, 500, 700, 1000)
INDEX = "data.index"
NETWORK = SOLUTIONS[0]
AS_THE_TEXT = {"network": 0.7, "early": 0.8, "stored": 0.71, "reset": 0.68}


def of_paper(
    name: str, tables: Mapping[str, pd.DataFrame], seed: int = 0, **config: object
) -> Record:
    own = {"recipe": "paper", "scale.name": "paper", **config}
    return made.record(name, tables, seed=seed, **own)


def record(
    name: str,
    accuracies: Sequence[float],
    *,
    js: Sequence[int] = ALL,
    losses: Sequence[float] | None = None,
    learned: Sequence[float] | None = None,
    steps: Sequence[float] | None = None,
    seed: int = 0,
) -> Record:
    """A run with a task for each j; who has infinite steps never came to the loss. `learned` are
    training accuracies."""
    losses = losses or [0.001] * len(js)
    learned = learned or [1.0] * len(js)
    reached = np.array(steps or 100.0 * np.arange(1, len(js) + 1))
    start, places = np.full(len(js), 0.5), np.arange(1, len(js) + 1)
    accuracy = [np.transpose([start, last, last]) for last in (learned, accuracies)]
    loss = np.transpose([start + 0.2, losses, losses])
    looks = {"data.index": js, "step": (0, 390, 39000)}
    moved = places[:, None] * [0, 39000]
    events = rows({"data.index": js}, event="train_loss", threshold=0.01, step=reached)
    tables = {
        "evals": rows({"split": SPLITS, **looks}, subset="all", loss=loss, accuracy=accuracy),
        "events": events[np.isfinite(reached)].astype({"step": int}),
        "distance": rows(
            {"data.index": js, "step": (0, 39000)},
            start=14.0,
            distance=moved,
            cosine_distance=moved / 1e6,
        ),
    }
    return of_paper(name, tables, seed)


def of_one_task(made: Record, run: str, **config: object) -> Record:
    """The run of one task, whose tables do not say which."""
    tables = {
        name: table.drop(columns="data.index", errors="ignore")
        for name, table in made.tables.items()
    }
    return replace(made, run=run, tables=tables, config={**made.config, **config})


def figure8(
    accuracies: Mapping[str, float], steps: Mapping[str, float] | None = None
) -> list[Record]:
    """Runs with the task of the 400th eigenfunction among others."""
    steps = {"network": 1000, "early": 6000, "stored": 500, "reset": 3000, **(steps or {})}

    def of(name: str, model: str) -> Record:
        return record(name, [accuracies[model]], js=(400,), steps=[steps[model]])

    late = f"{NETWORK}_late"
    made = [
        of_one_task(record(NETWORK, [0.1], js=(10,), steps=[7.0]), "other", **{INDEX: 10}),
        of_one_task(of(NETWORK, "network"), "network", **{INDEX: 400}),
        record(f"{NETWORK}_linear", [0.2, accuracies["early"]], js=(10, 400),
               steps=[9.0, steps["early"]]),
        *(of_one_task(of(late, model), model, **{INDEX: 400, RESET: model == "reset"})
          for model in ("stored", "reset")),
    ]  # fmt: skip
    # As run.json has it of a reference, with and without options of its own.
    weights: dict[str, dict[str, object]] = {
        "stored": {"weights": "run:3fa9/weights.pt"},
        "reset": {"weights.from": "run:3fa9/weights.pt", RESET: True},
    }
    return [replace(one, decides=weights.get(one.run, {})) for one in made]
