"""Snapshots are the outputs of the network where its loss first falls below a level."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from torch.nn import functional

from ntkexp.errors import UserError
from ntkexp.training.supervised import Supervised
from tests.tiny_runs import TINY, composed, prepared, train

pytestmark = pytest.mark.usefixtures("made_images")

WORDS = (*TINY, "data=mnist", "model=mlp", "model.depth=2", "model.width=9", "optim.lr=0.05")
SNAPPED = (*WORDS, "probe=[snapshot]", "probing.losses=[2.2,1.8]", "optim.steps=60")


@pytest.mark.parametrize("transform", ["plain", "linearise"])
def test_they_are_taken_at_crossings_and_only_there(transform: str, tmp_path: Path) -> None:
    words = (*SNAPPED, f"transform={transform}")
    run = train(tmp_path, *words)
    found = pd.read_parquet(run / "snapshot.parquet")
    events = pd.read_parquet(run / "events.parquet")
    assert sorted(set(found["step"])) == sorted(set(events["step"]))
    assert set(events["threshold"]) == {2.2, 1.8}
    assert len(found) == 30 * 10 * len(set(events["step"]))


def test_they_are_the_outputs_and_losses_of_the_network(tmp_path: Path) -> None:
    options = ["probe.snapshot.looks=true", "probe.snapshot.split=train"]
    words = [*WORDS, "probe=[snapshot]", "optim.steps=7", "probe.snapshot.examples=11", *options]
    found = pd.read_parquet(train(tmp_path, *words) / "snapshot.parquet").query("step == 7")
    work = prepared(composed(words)).work
    assert isinstance(work, Supervised)
    while work.step < 7:
        work.advance(7)
    split = work.dataset.train
    outputs = work.model(split.inputs[:11]).detach()
    table = found.pivot(index="example", columns="output", values="value").to_numpy()
    np.testing.assert_allclose(table, outputs, rtol=1e-5, atol=1e-6)
    losses = functional.cross_entropy(outputs, split.targets[:11], reduction="none")
    np.testing.assert_allclose(found["loss"], torch.repeat_interleave(losses, 10), rtol=1e-5)


def test_levels_must_be_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"probe\.snapshot: .* probing\.losses"):
        train(tmp_path, *WORDS, "probe=[snapshot]", "optim.steps=5")
    assert not list(tmp_path.iterdir())
