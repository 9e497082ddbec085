"""An optimiser of one's own gets the network and the objective, refuses early, and may diverge."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
import torch

import ntkexp
from ntkexp.errors import RunFailed, UserError
from ntkexp.models.cnn import Cnn
from tests.tiny_runs import TINY, assert_agree, composed, table, train

pytestmark = pytest.mark.usefixtures("made_images")
PICKY = ("optim=tests.optim.made_picky.Picky", "probe=[]", "optim.steps=6", *TINY)
MLP = ("data=mnist", "model=mlp", "model.depth=1", "model.width=4")


def test_it_knows_network_and_objective(tmp_path: Path) -> None:
    sgd = ("optim=sgd", "optim.momentum=0", "optim.lr=0.02", *PICKY[1:])
    ours = train(tmp_path, *MLP, *PICKY, "optim.lr=0.2")
    theirs = train(tmp_path, *MLP, *sgd)  # a tenth of the rate, for ten outputs
    torch.testing.assert_close(torch.load(ours / "weights.pt"), torch.load(theirs / "weights.pt"))


def test_a_network_is_refused_before_anything_is_loaded() -> None:
    with pytest.raises(UserError, match=r"optim=picky: conv1 is a convolution"):
        composed(["data=cifar10", "model=vgg", *PICKY])


def test_a_network_that_cannot_be_built_unseen_is_refused_before_there_is_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Cnn, "unseen", lambda *_: None)
    with pytest.raises(UserError, match="is a convolution"):
        ntkexp.run(None, ["data=cifar10", "model=cnn", *PICKY], runs=tmp_path)
    assert not list(tmp_path.iterdir())


def test_members_are_updated_as_each_alone_whatever_it_makes_of_rates_and_gradients(
    tmp_path: Path,
) -> None:
    words = (*MLP, *PICKY[1:], "optim=tests.optim.made_warming.Warming", "optim.lr=0.1")
    words = (*words, "optim.steps=12")
    together = table(train(tmp_path, *words, "members={seed: [0, 1]}"), "steps")
    for seed in (0, 1):
        own = together[together["seed"] == seed].drop(columns="seed").reset_index(drop=True)
        assert own["lr"].nunique() == 8
        assert_agree(own, table(train(tmp_path, *words, f"seed={seed}"), "steps"), 1e-4, 1e-6)
    with pytest.raises(UserError, match="Warming is no gradient descent"):
        train(tmp_path, *words, "transform=linearise", "transform.route=function")


def test_an_optimiser_that_cannot_go_on_has_diverged(tmp_path: Path) -> None:
    words = [*MLP, *PICKY, "optim.last=4"]
    for _ in range(2):  # the second call finds it: it is not tried again
        with pytest.raises(RunFailed, match="no Cholesky factor at step 4"):
            ntkexp.run(None, words, runs=tmp_path)
    (status,) = tmp_path.rglob("status.json")
    told = json.loads(status.read_text())
    assert told["state"] == "failed" and told["diverged_at"] == 4 and "traceback" not in told
    assert len(pd.read_parquet(status.with_name("steps.parquet"))) == 4


def test_a_loss_that_was_not_finite_before_is_what_happened(tmp_path: Path) -> None:
    words = [*MLP, *PICKY, "optim.last=4", "optim.lr=1e30"]
    with pytest.raises(RunFailed, match=r"the loss is not finite at step [12];"):
        ntkexp.run(None, words, runs=tmp_path)
