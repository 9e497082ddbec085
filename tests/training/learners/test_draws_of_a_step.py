"""What is drawn in a step depends on seed and step alone: dropped units, examples of a stream."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import torch
from torch import nn

from ntkexp.errors import UserError
from ntkexp.models.drawing import drawing_layers
from ntkexp.training.supervised import Supervised
from tests.tiny_runs import assert_same_files, composed, prepared, train

WORDS = (
    "model=mlp",
    "model.depth=1",
    "model.width=20",
    "probing.examples=10",
    "optim.epochs=null",
    "optim.steps=20",
    "optim.batch_size=10",
    "optim.stop_loss=null",
    "progress=false",
    "device=cpu",
)
DROPPING = ("data=disk", "data.grid=5", "model=tests.training.made_learning.Dropping")
ENDLESS = ("data=tests.training.made_learning.Endless",)


def dropping(*words: str) -> list[str]:
    return [*DROPPING, *(word for word in WORDS if not word.startswith("model")), *words]


def endless(*words: str) -> list[str]:
    return [*WORDS, *ENDLESS, *words]


@pytest.mark.parametrize("words", [dropping("probe=[]"), endless()], ids=["dropped", "stream"])
def test_a_run_goes_on_as_if_it_had_not_been_cut_short(tmp_path: Path, words: list[str]) -> None:
    torch.manual_seed(1)
    whole = train(tmp_path / "whole", *words)
    torch.manual_seed(2)
    train(tmp_path / "cut", *words, stop_at=7)
    assert_same_files(whole, train(tmp_path / "cut", *words))


def test_other_units_are_dropped_at_every_step_and_nobody_elses_numbers_are_drawn() -> None:
    work = prepared(composed(dropping("probe=[]"))).work
    assert isinstance(work, Supervised)
    dropped = []
    work.model[2].register_forward_hook(lambda *told: dropped.append(told[2] == 0))
    before = torch.random.get_rng_state()
    work.advance(2)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert not torch.equal(dropped[0], dropped[1])


def test_layers_that_drop_by_themselves_draw() -> None:
    network = nn.ModuleDict(
        {
            "recurrent": nn.LSTM(2, 2, num_layers=2, dropout=0.1),
            "attention": nn.MultiheadAttention(2, 1, dropout=0.1),
            "dropless": nn.MultiheadAttention(2, 1),
        }
    )
    assert drawing_layers(network) == ["recurrent", "attention"]


def test_a_stream_is_trained_on_what_it_draws_and_looked_at_on_its_sample(tmp_path: Path) -> None:
    run = train(tmp_path, *endless("optim.lr=0.1", "optim.steps=200"))
    evals = pd.read_parquet(run / "evals.parquet")
    last = evals[evals["step"] == 200].set_index("split")
    assert last.loc["test", "accuracy"] > 0.9
    assert set(pd.read_parquet(run / "steps.parquet")["epoch"]) == {0}


def test_members_see_their_own_streams(tmp_path: Path) -> None:
    many = train(tmp_path / "many", *endless("members={seed: [3, 4]}"))
    steps = pd.read_parquet(many / "steps.parquet")
    for seed in (3, 4):
        alone = pd.read_parquet(
            train(tmp_path / "alone", *endless(f"seed={seed}")) / "steps.parquet"
        )
        own = steps[steps["seed"] == seed]
        assert own["train_loss"].tolist() == pytest.approx(alone["train_loss"].tolist(), rel=1e-5)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (endless("optim.epochs=2"), "optim.epochs=2: endless is a stream"),
        (endless("optim.batch_size=null"), "optim.batch_size=None: endless is a stream"),
        (dropping("probe=[]", "members={seed: [1, 2]}"), "members: layer 2 draws at random"),
    ],
)
def test_what_cannot_be_is_refused(words: list[str], told: str) -> None:
    with pytest.raises(UserError, match=told):
        prepared(composed(words))
