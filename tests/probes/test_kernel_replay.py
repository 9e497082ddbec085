"""The replay beside training itself, and its kernel beside autograd."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import ntkexp
from ntkexp.data import Split
from ntkexp.errors import UserError
from ntkexp.models import build
from ntkexp.models.base import Init
from ntkexp.models.mlp import Mlp
from ntkexp.probes.kernel_replay import KernelReplay
from ntkexp.probes.view import View
from tests.tiny_runs import composed, train

SMALL = {"model.width": 16, "model.depth": 2, "members": {"seed": [0, 1]}, "progress": False}


class AdamView(View):
    """A network with some memory of Adam's."""

    def __init__(self) -> None:
        super().__init__(step=3, seed=0, last=False)
        self.model = build(Mlp(depth=2, width=5, init=Init.default), (1,), 1, 0)
        draws = torch.Generator().manual_seed(0)
        shapes = [w.shape for w in self.model.parameters()]
        self.mean = [torch.randn(shape, generator=draws) for shape in shapes]
        self.square = [torch.rand(shape, generator=draws) for shape in shapes]

    def network(self, role: str = "model") -> torch.nn.Module:
        return self.model

    def examples(self, split: str) -> Split:
        z = torch.arange(8.0)[:, None] / 8
        return Split.clean(z, torch.sin(z[:, 0]))

    def optimiser(self) -> dict[str, Any]:
        return {"updates": 3, "mean": self.mean, "square": self.square}


def test_the_kernel_is_that_of_autograd_with_adams_scales() -> None:
    view = AdamView()
    at = KernelReplay(starts=[3]).frozen(view)
    rows = []
    for z in view.examples("train").inputs:
        gradients = torch.autograd.grad(view.model(z[None])[0, 0], [*view.model.parameters()])
        rows.append(torch.cat([part.flatten() for part in gradients]).double())
    phi = torch.stack(rows)
    square = torch.cat([part.flatten() for part in view.square]).double()
    mean = torch.cat([part.flatten() for part in view.mean]).double()
    scales = 1 / ((square / (1 - 0.999**3)).sqrt() + 1e-8)
    assert at.kernel == pytest.approx(((phi * scales) @ phi.T).numpy(), rel=1e-4)
    assert at.momentum == pytest.approx((phi @ (scales * mean)).numpy(), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("experiment", ["kernel", "descent"])
def test_the_next_step_of_training_is_the_replayed_one(experiment: str, tmp_path: Path) -> None:
    adam = experiment == "kernel"
    looks = {"probing.steps": [0, 50, 51], "probe.kernel_replay.starts": [50],
             "probe.kernel_replay.after": [1], "probe.kernel_replay.frequencies": [1, 2, 3],
             "probe.fourier.frequencies": [1, 2, 3], "optim.steps": 60,
             "data.frequencies": [1, 2, 3]}  # fmt: skip
    lr = 0.0003 if adam else 0.01
    rate = {"optim.lr": lr, "probe.kernel_replay.lr": lr}
    run = ntkexp.run(f"spectral/{experiment}", {**SMALL, **looks, **rate}, runs=tmp_path)
    key = ["seed", "k"]
    fourier, replayed = run.tables["fourier"], run.tables["kernel_replay"]

    def measured(step: int) -> pd.Series:
        return fourier[fourier["step"] == step].set_index(key)["residual"].astype(float)

    then = replayed[replayed["after"] == 1].set_index(key)["residual"]
    now = replayed[replayed["after"] == 0].set_index(key)["residual"]
    assert now.to_numpy() == pytest.approx(measured(50)[now.index].to_numpy(), rel=1e-3)
    falls, expected = now - then, now - measured(51)[now.index]
    assert falls.to_numpy() == pytest.approx(expected.to_numpy(), abs=0.2 * np.abs(expected).max())


def test_other_rates_than_optims_are_refused() -> None:
    with pytest.raises(UserError, match=r"probe\.kernel_replay\.lr: expected optim's, 0\.01"):
        ntkexp.run("spectral/kernel", {"optim.lr": 0.01})


@pytest.mark.parametrize(
    "word", ["optim.batch_size=10", "optim.schedule=cosine", "optim.weight_decay=0.1"]
)
def test_steps_that_the_replay_does_not_take_are_refused(word: str) -> None:
    with pytest.raises(UserError, match=rf"{word}: .* replays full batches"):
        composed(("+exp=spectral/kernel", word))


def test_momentum_of_descent_is_refused() -> None:
    words = ("+exp=spectral/descent", "optim.momentum=0.9", "probe.kernel_replay.beta1=0.9")
    with pytest.raises(UserError, match=r"without momentum, got optim\.momentum=0\.9"):
        composed(words)


def test_a_network_within_a_transform_is_refused(tmp_path: Path) -> None:
    words = ("+exp=spectral/kernel", "optim.steps=2", "probing.steps=[0]", "model.width=4")
    with pytest.raises(UserError, match="looks at layers"):
        train(tmp_path, *words, "transform=alpha_scale", "transform.alpha=3", "progress=false")
