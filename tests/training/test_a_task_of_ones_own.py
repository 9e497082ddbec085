"""Regression on data of one's own, by a linearised network, squared error and Adam."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import torch
from torch.func import functional_call, jvp

from ntkexp import models
from ntkexp.models.mlp import Mlp
from tests.tiny_runs import train
from tests.training.made_regression import Waves

HERE = "tests.training.made_regression"
WORDS = (
    *(f"data={HERE}.Waves", f"probe=[{HERE}.Slopes]", "objective=squared_error", "optim=adam"),
    *("transform=linearise", "model=mlp", "model.depth=1", "model.width=16", "device=cpu"),
    *("optim.lr=0.01", "optim.batch_size=10", "optim.steps=40", "optim.stop_loss=null"),
    *("probing.spacing=linear", "probing.every=10", "probing.examples=20", "progress=false"),
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(tmp_path_factory.mktemp("whole"), *WORDS)


def test_its_weights_give_the_outputs_that_the_probe_saw(run: Path) -> None:
    """The linearised network by torch.func, at the weights that the run kept."""
    network = models.build(Mlp(depth=1, width=16), (2,), 1, seed=0)
    start = dict(network.named_parameters())
    end = torch.load(run / "weights.pt")
    moved = {name: end[name] - start[name] for name in start}
    test = Waves().build(0, torch.device("cpu"), progress=False).test
    outputs, change = jvp(
        lambda weights: functional_call(network, weights, (test.inputs,)), (start,), (moved,)
    )
    linear = (outputs + change).flatten().double()
    targets = test.targets.double()
    last = pd.read_parquet(run / "slopes.parquet").query("step == 40 and split == 'test'")
    slope = (linear @ targets / (targets @ targets)).item()
    assert last["slope"].item() == pytest.approx(slope, rel=1e-4)


def test_it_learns(run: Path) -> None:
    losses = pd.read_parquet(run / "evals.parquet").query("split == 'train'")["loss"]
    assert losses.iloc[-1] < 0.7 * losses.iloc[0]


def test_it_goes_on_bit_for_bit(run: Path, tmp_path: Path) -> None:
    train(tmp_path, *WORDS, stop_at=17)
    again = train(tmp_path, *WORDS)
    for name in ("steps.parquet", "slopes.parquet", "evals.parquet", "weights.pt"):
        assert (again / name).read_bytes() == (run / name).read_bytes(), name
