"""Exact, sampled and empirical Fisher matrices from the forward of a minibatch."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import torch
from torch import Tensor

from ntkexp.objectives.binary import BinaryLoss
from ntkexp.objectives.cross_entropy import CrossEntropyLoss
from ntkexp.objectives.reconstruction import BernoulliLoss
from ntkexp.objectives.squared_error import SquaredErrorLoss
from tests.optim.made_fisher import FisherUpdate
from tests.tiny_runs import TINY, assert_same_files, composed, train

WORDS = ("optim=tests.optim.made_fisher.Fisher", "data=yin_yang", "data.train_examples=30")
NET = ("model=torch", "model.of=torch.nn.Linear", "model.options={in_features: 2, out_features: 1}")
LOOKS = ("probing.every=1", "probing.examples=5")
SHORT = ("data.grid=4", "device=cpu", "progress=false", "probe=[]", "optim.stop_loss=null")


def test_three_fisher_matrices_of_a_minibatch_are_kept(tmp_path: Path) -> None:
    words = (*WORDS, *NET, *SHORT, "optim.batch_size=null", "optim.steps=3")
    kept: list[Tensor] = []
    with pytest.MonkeyPatch.context() as patch:
        take = FisherUpdate.take

        def taken(update: FisherUpdate, gradients: list[Tensor]) -> None:
            kept[:] = [*update.memory["fisher"], gradients[0].clone()]
            take(update, gradients)

        patch.setattr(FisherUpdate, "take", taken)
        whole = train(tmp_path / "whole", *words)
    empirical, exact, sampled, gradient = kept
    assert empirical.shape == exact.shape == (2, 2)
    torch.testing.assert_close(sampled, exact, rtol=0.1, atol=0.1)
    assert not torch.allclose(empirical, exact, rtol=0.01)
    # Cauchy and Schwarz: the mean gradient is bounded by the empirical Fisher.
    assert float(gradient.square().sum()) <= float(empirical.trace()) / 30
    train(tmp_path / "cut", *words, stop_at=2)
    assert_same_files(whole, train(tmp_path / "cut", *words))


@pytest.mark.parametrize("loss", [CrossEntropyLoss(4), BinaryLoss(), SquaredErrorLoss(3)])
def test_roots_are_the_mean_over_drawn_targets_and_the_hessian(
    loss: CrossEntropyLoss | BinaryLoss | SquaredErrorLoss,
) -> None:
    stream = torch.Generator().manual_seed(1)
    outputs = torch.randn(1, loss.outputs, generator=stream, dtype=torch.float64)
    exact = sum(root[0][:, None] * root[0] for root in loss.roots(outputs))
    assert isinstance(exact, Tensor)
    target = loss.sample(outputs, stream)
    hessian = torch.autograd.functional.hessian(
        lambda f: loss.losses(f[None], target)[0], outputs[0]
    )
    torch.testing.assert_close(exact, hessian)
    many = outputs.expand(100_000, -1)
    _, slopes = loss.losses_and_slopes(many, loss.sample(many, stream))
    torch.testing.assert_close(slopes.mT @ slopes / len(slopes), exact, atol=0.02, rtol=0.02)


def test_roots_of_a_mean_over_pixels_are_those_of_drawn_shades() -> None:
    stream = torch.Generator().manual_seed(1)
    loss, outputs = BernoulliLoss(4), torch.randn(1, 4, generator=stream, dtype=torch.float64)
    exact = 16 * sum(root[0][:, None] * root[0] for root in loss.roots(outputs))
    many = outputs.expand(100_000, -1)
    _, slopes = loss.losses_and_slopes(many, loss.sample(many, stream))
    torch.testing.assert_close(16 * slopes.mT @ slopes / len(slopes), exact, atol=0.02, rtol=0.02)


@pytest.mark.usefixtures("made_images")
def test_layers_of_a_deep_network_pass_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []

    def on_forward(update: FisherUpdate, forward: object) -> None:
        passed = forward.passed  # type: ignore[attr-defined]
        slopes = torch.ones_like(forward.outputs)  # type: ignore[attr-defined]
        gradients = forward.gradients(slopes)  # type: ignore[attr-defined]
        assert all(len(g) == len(p.inputs) for p, g in zip(passed, gradients, strict=True))
        seen.append([p.name for p in passed])

    monkeypatch.setattr(FisherUpdate, "on_forward", on_forward)
    config = composed(
        ["data=mnist", "model=mlp", "model.depth=2", WORDS[0], "optim.steps=1", *TINY]
    )
    from tests.tiny_runs import prepared

    prepared(config).work.advance(1)
    assert seen == [["hidden1", "hidden2", "output"]]


def test_a_probe_sees_what_adam_remembers(tmp_path: Path) -> None:
    words = (*WORDS[1:], *NET, *SHORT[:3], "optim=adam", "optim.steps=3", "optim.stop_loss=null")
    probe = "probe=[tests.optim.made_fisher.Remembered]"
    for members in ((), ("members={seed: [0, 1]}",)):
        run = train(tmp_path, *words, probe, "probing.spacing=linear", *members, *LOOKS)
        table = pd.read_parquet(run / "remembered.parquet")
        assert (table[table["step"] == 0][["mean", "square"]] == 0).all(axis=None)
        assert (table[table["step"] == 3][["mean", "square"]] > 0).all(axis=None)
