"""What a probe sees is the network as it is at its look."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
import torch
from torch import nn

from ntkexp import data
from ntkexp.data.sines import Sines
from ntkexp.objectives.squared_error import SquaredErrorLoss
from ntkexp.probes import Batch, NetworkView, Probe, Rows, View
from ntkexp.results.table import STEP, Table, float64
from ntkexp.tangent import tangent_kernel
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


def test_batch_statistics_are_those_of_every_batch_norm() -> None:
    """Also of one without further axes."""
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(1, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 1))
    inputs = torch.rand(6, 1)
    expected = tangent_kernel(network, inputs, batch_function=True).gram
    seen = NetworkView(
        network.eval(),
        data.load(Sines(train_examples=12), 0, torch.device("cpu"), progress=False),
        SquaredErrorLoss(1),
        batch_statistics=True,
        step=0,
        seed=0,
        last=False,
        batches={"train": Batch(inputs, torch.zeros(6))},
    )
    torch.testing.assert_close(seen.kernel("train").gram, expected)
    assert not network[1].training
