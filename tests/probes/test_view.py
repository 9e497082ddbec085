"""What a probe sees is the network as it is at its look."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest

from ntkexp.probes import Probe, Rows, View
from ntkexp.results.table import STEP, Table, float64
from tests.tiny_runs import TINY, train


@dataclass
class Stale(Probe):
    tables = (Table("stale", "K at a look", {"step": STEP, "stale": float64("error")}),)

    def measure(self, view: View) -> Rows:
        now = view.kernel_on(view.batches["train"].inputs).gram
        stale = (view.kernel("train").gram - now).norm() / now.norm()
        return {"stale": {"stale": stale.item()}}


@pytest.mark.usefixtures("made_images")
def test_the_kernel_of_a_look_is_that_of_its_weights(tmp_path: Path) -> None:
    words = (*TINY, "data=mnist", "model.depth=1", "model.width=4", "optim.steps=6")
    run = train(tmp_path, *words, "optim.lr=0.1", f"probe=[{__name__}.Stale]")
    table = pd.read_parquet(run / "stale.parquet")
    assert table["step"].tolist() == [0, 5, 6]
    assert table["stale"].max() < 1e-5
