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
DISK = (
    *(word for word in TINY if not word.startswith("data.")),
    "data=disk",
    "data.grid=6",
    "model=mlp",
)
# Runs with all probes that can look at one network.
RUNS = {
    "disk": (*DISK, "probe=[eigenfunctions]", "++probe.eigenfunctions.count=5"),
    "mnist": (
        *MNIST,
        "probe=[spectrum,alignment,complexity,directions,measures,linearity,leave_one_out]",
        "++probe.directions.count=2",
    ),
    "digits": (
        *DIGITS,
        "probe=[adapted_kernel,relaxed_model]",
        "++probe.adapted_kernel.points=3",
        "++probe.adapted_kernel.shuffles=2",
        "++probe.relaxed_model.points=3",
        "++probe.relaxed_model.diagonal=true",
    ),
    # Without biases all of the kernel is zero.
    "without biases": (
        *DIGITS,
        "probe=[spectrum,alignment,complexity,linearity]",
        "optim.batch_size=null",
    ),
}  # fmt: skip


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


@pytest.mark.usefixtures("made_images", "dead")
@pytest.mark.parametrize("name", RUNS)
def test_a_dead_network_ends_no_run(tmp_path: Path, name: str) -> None:
    run = train(tmp_path, *RUNS[name], "optim.steps=3")
    assert len(pd.read_parquet(run / "evals.parquet"))
