"""Linearisations at later weights: what is read off a run."""

from __future__ import annotations

import pandas as pd
import pytest

from ntkexp.papers.linearised.tasks import late
from ntkexp.results.record import Record


def run(step: int, reached: int | None) -> Record:
    """A run whose loss first is .01 at the update `reached`, which moved by 2, of 5 at its end."""
    evals = pd.DataFrame(
        {"step": at, "split": split, "subset": "all", "accuracy": accuracy}
        for at, split, accuracy in [(0, "test", 0.5), (9, "test", 0.7), (9, "train", 0.9)]
    )
    distance = pd.DataFrame({"step": [0, 4, 9], "distance": [0.0, 2.0, 5.0]})
    events = [
        {"step": 1, "event": "train_loss", "threshold": 0.5},
        {"step": reached, "event": "train_loss", "threshold": 0.01},
    ]
    tables = {
        "evals": evals,
        "distance": distance,
        "events": pd.DataFrame(events[: 1 if reached is None else 2]),
    }
    config = {"weights.file": f"weights.{step}.pt"}
    return Record("linearised/late", f"run{step}", config, tables)


def test_rows_are_in_the_order_of_their_weights_with_the_distance_at_the_loss() -> None:
    rows = late([run(3900, reached=4), run(0, reached=None)])
    assert rows["epoch"].tolist() == [0, 10]
    assert rows["reached"].tolist() == [False, True]
    assert rows["distance"].tolist() == [5.0, 2.0]
    assert rows["accuracy"].tolist() == pytest.approx([0.7, 0.7])
