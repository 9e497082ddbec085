"""Updates that are recorded and replayed, on a GPU that is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from torch import Tensor, nn

from ntkexp.models.activations import MODULES, Activation
from ntkexp.optim.adam import AdamUpdate
from ntkexp.optim.sgd import SgdUpdate
from ntkexp.optim.update import WeightUpdate
from tests.pretended.cuda import machine, pretended
from tests.pretended.on_runs import CONVOLUTIONS, MLP
from tests.tiny_runs import train

pytestmark = pytest.mark.usefixtures("made_images")
UPDATES = 12
NETS: dict[str, tuple[str, ...]] = {
    "mlp": (*MLP, "probe=[]"),
    "weight decay": (*MLP, "probe=[]", "optim.weight_decay=0.01"),
    "batch norm": (*CONVOLUTIONS, "model=resnet18", "probe=[]", "optim.steps=6"),
    "alpha": (*MLP, "transform=alpha_scale", "transform.alpha=10", "probe=[]"),
}


def steps(folder: Path, *words: str) -> pd.DataFrame:
    return pd.read_parquet(train(folder, *words) / "steps.parquet")


@pytest.mark.parametrize(("name", "current"), [("mlp", 0), *((name, 1) for name in NETS)])
def test_replayed_updates_are_those_without_a_graph_whatever_the_current_device(
    name: str, current: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pretended(current):
        replayed = steps(tmp_path / "graph", *NETS[name])
        assert machine.replays >= len(replayed)
        plain = steps(tmp_path / "none", *NETS[name], "cuda_graph=false")
    assert "graph" not in capsys.readouterr().err
    pd.testing.assert_frame_equal(replayed, plain)
    assert replayed["train_loss"].nunique() == len(replayed)


def reads(x: Tensor) -> Tensor:
    return x * (1.0 if x.sum().item() < 1e9 else 0.0)


def sends(x: Tensor) -> Tensor:
    return x * torch.tensor([1.0], device=x.device)


@pytest.mark.parametrize("waits", [reads, sends])
def test_a_forward_that_waits_for_the_device_goes_on_without_a_graph_and_says_so(
    waits: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Waits(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.relu(waits(x))

    monkeypatch.setitem(MODULES, Activation.relu, Waits)
    with pretended():
        found = steps(tmp_path / "graph", *NETS["mlp"])
        assert machine.replays == 0
        said = capsys.readouterr().err.splitlines()
        plain = steps(tmp_path / "none", *NETS["mlp"], "cuda_graph=false")
    pd.testing.assert_frame_equal(found, plain)
    (line,) = [line for line in said if "graph" in line]
    assert line.startswith("no CUDA graph: called a synchronizing CUDA operation")
    assert line.endswith("; updates are made one by one")


def test_an_empty_graph_is_not_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pretended(current=1):
        # As if nothing made the update's device the current one.
        monkeypatch.setattr(torch.cuda, "device", lambda chosen: machine.at(None))
        found = steps(tmp_path / "graph", *NETS["mlp"])
        assert machine.replays == 1
        plain = steps(tmp_path / "none", *NETS["mlp"], "cuda_graph=false")
    pd.testing.assert_frame_equal(found, plain)
    assert "no CUDA graph: the graph is empty" in capsys.readouterr().err


def test_only_optimisers_that_say_so_are_recorded(tmp_path: Path) -> None:
    assert not WeightUpdate.repeats
    assert not AdamUpdate.repeats
    assert SgdUpdate.repeats
    with pretended():
        steps(tmp_path, *NETS["mlp"], "optim=adam")
        assert machine.replays == 0
