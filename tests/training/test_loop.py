"""What the loop does besides what the probes see."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import torch
from tiny_runs import TINY, train

from ntkexp.config import ProbingConfig, Spacing
from ntkexp.optim import Schedule
from ntkexp.optim.sgd import Sgd
from ntkexp.training.schedule import learning_rate, probe_steps
from ntkexp.training.sgd import SGD

pytestmark = pytest.mark.usefixtures("made_images")

NET = ("model=mlp", "data=mnist", "model.depth=1", "model.width=20", "probe=[]")


@pytest.mark.parametrize(("momentum", "decay"), [(0.0, 0.0), (0.9, 0.0), (0.9, 5e-4)])
def test_sgd_is_torchs_bit_for_bit(momentum: float, decay: float) -> None:
    def trained(ours: bool) -> list[torch.Tensor]:
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.ReLU(), torch.nn.Linear(7, 2))
        parameters = list(net.parameters())
        theirs = torch.optim.SGD(parameters, 0.1, momentum=momentum, weight_decay=decay)
        sgd = SGD(parameters, momentum=momentum, weight_decay=decay)
        for _ in range(10):
            net(torch.randn(4, 5)).square().sum().backward()
            if ours:
                sgd.accelerate()
                sgd.move(0.1)
            else:
                theirs.step()
                theirs.zero_grad()
        return [parameter.detach() for parameter in parameters]

    for ours, theirs in zip(trained(True), trained(False), strict=True):
        assert torch.equal(ours, theirs)


def test_it_stops_when_the_whole_training_set_is_fitted_twice(tmp_path: Path) -> None:
    words = [word for word in TINY if "stop_loss" not in word]
    run = train(tmp_path, *words, *NET, "optim.lr=0.05", "optim.epochs=400")
    evals = pd.read_parquet(run / "evals.parquet").query("split == 'train'")
    assert (evals["loss"].iloc[-2:] < 0.01).all()
    assert not (evals["loss"].iloc[:-2] < 0.01).any()
    assert evals["step"].iloc[-1] < 1200


def test_step_zero_is_before_the_first_update(tmp_path: Path) -> None:
    ends = {}
    for steps in (1, 2):
        run = train(tmp_path, *TINY, *NET, f"optim.steps={steps}")
        ends[steps] = pd.read_parquet(run / "evals.parquet").query("split == 'test'")
    assert ends[1]["step"].tolist() == [0, 1]
    assert ends[2]["step"].tolist() == [0, 2]
    # The same seed starts in the same place, whatever comes after.
    assert ends[1]["loss"].iloc[0] == ends[2]["loss"].iloc[0]


def test_easy_and_difficult_examples_are_evaluated_apart(tmp_path: Path) -> None:
    parts = ("data.difficult=random_labels", "data.difficult_examples=20")
    run = train(tmp_path, *TINY, *NET, *parts, "optim.steps=60", "optim.lr=0.05")
    last = pd.read_parquet(run / "evals.parquet").query("step == 60").set_index(["split", "subset"])
    accuracy = last["accuracy"]
    assert accuracy["train", "all"] == pytest.approx(
        (60 * accuracy["train", "easy"] + 20 * accuracy["train", "difficult"]) / 80
    )
    assert ("test", "easy") not in accuracy.index


def test_the_probe_schedules() -> None:
    steps = sorted(probe_steps(ProbingConfig(), last=10**6))
    assert steps[:9] == [0, 5, 6, 7, 8, 10, 11, 13, 15]
    assert sorted(probe_steps(ProbingConfig(spacing=Spacing.linear, every=4), 10)) == [0, 4, 8]
    listed = ProbingConfig(spacing=Spacing.list, steps=[0, 3, 99])
    assert sorted(probe_steps(listed, 10)) == [0, 3]


def test_a_cosine_falls_from_the_rate_to_nothing() -> None:
    config = Sgd(lr=0.1, schedule=Schedule.cosine)
    assert learning_rate(config, 0, 100) == pytest.approx(0.1)
    assert learning_rate(config, 50, 100) == pytest.approx(0.05)
    assert learning_rate(config, 100, 100) == pytest.approx(0)
