"""What is read off runs of tasks: linearisations at both ends of training and at later weights."""

from __future__ import annotations

import pandas as pd
import pytest

from ntkexp.papers.linearised.tasks import ends, late, looks
from ntkexp.results.record import Record
from tests.papers import made
from tests.papers.linearised.made import AS_THE_TEXT, NETWORK, figure8
from tests.papers.made import evals


def test_each_model_has_the_numbers_of_the_late_ones_task() -> None:
    runs = figure8(AS_THE_TEXT)
    frame = ends(runs, NETWORK)
    assert frame["accuracy"].to_dict() == pytest.approx(AS_THE_TEXT)
    assert frame["steps"].to_dict() == {
        "network": 1000, "early": 6000, "stored": 500, "reset": 3000,
    }  # fmt: skip
    drawn = looks(runs, NETWORK)
    assert set(drawn["data.index"]) == {400} and set(drawn["model"]) == set(AS_THE_TEXT)
    last = drawn[(drawn["step"] == 39000) & (drawn["split"] == "test")]
    assert last.set_index("model")["accuracy"].to_dict() == pytest.approx(AS_THE_TEXT)
    assert looks(runs[:3], NETWORK).empty


def run(step: int, reached: int | None) -> Record:
    """A run whose loss first is .01 at the update `reached`, which moved by 2, of 5 at its end."""
    events = {"event": "train_loss", "step": [1, reached], "threshold": [0.5, 0.01]}
    tables = {
        "evals": evals(train=(0.5, 0.9), test=(0.5, 0.7), steps=(0, 9)),
        "distance": pd.DataFrame({"step": [0, 4, 9], "distance": [0.0, 2.0, 5.0]}),
        "events": pd.DataFrame(events).dropna(),
    }
    return made.record("linearised/late", tables, **{"weights.file": f"weights.{step}.pt"})


def test_rows_are_in_the_order_of_their_weights_with_the_distance_at_the_loss() -> None:
    rows = late([run(3900, reached=4), run(0, reached=None)])
    assert rows["epoch"].tolist() == [0, 10]
    assert rows["reached"].tolist() == [False, True]
    assert rows["distance"].tolist() == [5.0, 2.0]
    assert rows["accuracy"].tolist() == pytest.approx([0.7, 0.7])
