"""What is trained in place of a network: its outputs, its rate, its way on training examples."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from torch.nn import functional

from ntkexp.training.supervised import Supervised
from tests.tiny_runs import TINY, composed, goes_on, prepared, train

pytestmark = pytest.mark.usefixtures("made_images")

WORDS = (*TINY, "model=mlp", "data=mnist", "model.depth=1", "model.width=20", "optim.steps=20")
MADE = ("transform=tests.transforms.made_transforms.FromZero",)


def test_it_trains_the_transformed_function_at_its_rate(tmp_path: Path) -> None:
    words = (*WORDS, *MADE, "optim.lr=0.05", "optim.momentum=0", "probe=[]")
    run = train(tmp_path, *words)
    work = prepared(composed(words)).work
    assert isinstance(work, Supervised)
    losses = []
    for step in range(20):
        inputs, targets = work.learner.minibatch(step)
        loss = functional.cross_entropy(work.model(inputs), targets)
        gradients = torch.autograd.grad(loss, list(work.model.network.parameters()))
        losses.append(loss.item())
        with torch.no_grad():
            for w, gradient in zip(work.model.network.parameters(), gradients, strict=True):
                w -= 0.05 / 9 * gradient
    steps = pd.read_parquet(run / "steps.parquet")
    np.testing.assert_allclose(steps["train_loss"], losses, rtol=1e-5)
    np.testing.assert_allclose(steps["lr"], 0.05 / 9)
    # All outputs are zero at the start.
    assert steps["train_loss"][0] == pytest.approx(np.log(10), rel=1e-6)


def test_the_quicker_way_is_taken_and_gives_the_same(tmp_path: Path) -> None:
    words = (*WORDS, *MADE, "optim.lr=0.05", "probe=[spectrum]")
    quick, slow = (
        pd.read_parquet(train(tmp_path, *words, f"transform.quick={quick}") / "steps.parquet")
        for quick in ("true", "false")
    )
    np.testing.assert_allclose(quick["train_loss"], slow["train_loss"], rtol=1e-5)
    work = prepared(composed(words)).work
    assert isinstance(work, Supervised)
    work.model.start[-1].weight.data += 1  # only the slower way asks it
    work.advance(1)
    (steps,) = [columns for table, columns in work.rows() if table == "steps"]
    assert steps["train_loss"] == [quick["train_loss"][0]]


def test_it_goes_on_where_it_was_cut_short(tmp_path: Path) -> None:
    goes_on(tmp_path, *WORDS, *MADE, "probe=[spectrum]", stop_at=7)


def test_the_kernel_is_that_of_the_function(tmp_path: Path) -> None:
    plain = pd.read_parquet(train(tmp_path / "plain", *WORDS) / "spectrum.parquet")
    grown = pd.read_parquet(train(tmp_path / "grown", *WORDS, *MADE) / "spectrum.parquet")
    first = plain["step"] == 0
    np.testing.assert_allclose(
        grown["eigenvalue"][first], 9 * plain["eigenvalue"][first], rtol=1e-3, atol=1e-3
    )
