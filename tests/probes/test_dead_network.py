"""A network whose kernel is zero once centred is a result, and ends no run."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import torch
from torch import nn

from ntkexp.training import experiment
from tests.tiny_runs import TINY, train

MNIST = (*TINY, "data=mnist", "model=mlp", "model.depth=2", "model.width=4")
DIGITS = (
    *(word for word in TINY if not word.startswith("data.")),
    "data=fitted_digits",
    "data.train_examples=40",
    "data.test_examples=20",
    "model=bias_free_mlp",
    "objective=squared_error",
)
SCORED = tuple(word.replace("data=mnist", "data=scored_mnist") for word in MNIST)
DISK = (
    *(word for word in TINY if not word.startswith("data.")),
    "data=disk",
    "data.grid=6",
    "model=mlp",
)
PROBES = {
    "eigenfunctions": (*DISK, "++probe.eigenfunctions.count=5"),
    "spectrum": MNIST,
    "alignment": MNIST,
    "complexity": MNIST,
    "directions": (*MNIST, "++probe.directions.count=2"),
    "measures": MNIST,
    "linearity": MNIST,
    "telescope": MNIST,
    "leave_one_out": MNIST,
    "adapted_kernel": (
        *DIGITS,
        "++probe.adapted_kernel.points=3",
        "++probe.adapted_kernel.shuffles=2",
    ),
    "relaxed_model": (
        *DIGITS,
        "++probe.relaxed_model.points=3",
        "++probe.relaxed_model.diagonal=true",
    ),
    "frozen_prediction": (*MNIST, "objective=squared_error", "optim.batch_size=null"),
}


@pytest.fixture
def dead(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every unit of the first layer is closed for every input."""
    build = experiment.models.build

    def built(*given: object) -> nn.Module:
        net = build(*given)  # type: ignore[arg-type]
        first = next(module for module in net.modules() if isinstance(module, nn.Linear))
        with torch.no_grad():
            first.weight.zero_()
            if first.bias is not None:
                first.bias.fill_(-1.0)
        return net

    monkeypatch.setattr(experiment.models, "build", built)


# Without biases all of the kernel is zero.
WITHOUT_BIASES = ("spectrum", "alignment", "complexity", "linearity", "telescope")


@pytest.mark.usefixtures("made_images", "dead")
@pytest.mark.parametrize("probe", PROBES)
def test_a_dead_network_ends_no_run(tmp_path: Path, probe: str) -> None:
    run = train(tmp_path, *PROBES[probe], f"probe=[{probe}]", "optim.steps=3")
    assert len(pd.read_parquet(run / "evals.parquet"))


@pytest.mark.usefixtures("made_images", "dead")
@pytest.mark.parametrize("probe", [*WITHOUT_BIASES, "frozen_prediction"])
def test_nor_does_one_without_biases(tmp_path: Path, probe: str) -> None:
    words = (*DIGITS, f"probe=[{probe}]", "optim.steps=3", "optim.batch_size=null")
    assert len(pd.read_parquet(train(tmp_path, *words) / "evals.parquet"))
