"""In function space many updates are made between two questions, and nothing of it is seen."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import torch

from ntkexp.errors import UserError
from ntkexp.training.members import stacked
from tests.tiny_runs import TINY, assert_same_files, composed, table, train

WORDS = (
    *("data=yin_yang", "data.train_examples=20", "data.grid=5", "device=cpu", "progress=false"),
    *("model=mlp", "model.depth=2", "model.width=10", "model.init=default", "probe=[snapshot]"),
    *("optim.batch_size=null", "optim.lr=0.1", "optim.momentum=0.5", "optim.stop_loss=null"),
    *("optim.steps=400", "probing.losses=[0.65,0.6,0.5]", "optim.stop_after_losses=true"),
    "members={seed: [3, 4, 5]}",
)
LINEAR = (*WORDS, "transform=linearise")


def test_bursts_leave_what_single_updates_leave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bursts = train(tmp_path / "bursts", *LINEAR)
    monkeypatch.setattr(stacked, "needs_every_update", lambda work: True)
    single = train(tmp_path / "single", *LINEAR)
    assert table(bursts, "events")["step"].nunique() > 3
    assert_same_files(single, bursts)


def test_a_member_that_diverges_in_a_burst_ends_at_its_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [word for word in LINEAR if "optim.lr" not in word and "members" not in word]
    words += ["members={optim.lr: [0.1, 1e30]}", "objective=squared_error"]
    bursts = train(tmp_path / "bursts", *words)
    monkeypatch.setattr(stacked, "needs_every_update", lambda work: True)
    single = train(tmp_path / "single", *words)
    ends = table(bursts, "members")
    assert ends.set_index("optim.lr")["outcome"][1e30] == "diverged"
    pd.testing.assert_frame_equal(ends, table(single, "members"))


def test_a_member_with_fewer_steps_ends_there_and_not_at_the_next_look(tmp_path: Path) -> None:
    words = [word for word in LINEAR if not word.startswith(("optim.stop_after", "members"))]
    words += ["probing.losses=[]", "probe=[]", "members={optim.steps: [9, 60]}"]
    run = train(tmp_path, *words)
    ends = table(run, "members").set_index("optim.steps")["step"]
    assert ends.to_dict() == {9: 9, 60: 60}
    evals = table(run, "evals")
    assert evals[evals["optim.steps"] == 9]["step"].max() == 9


@pytest.mark.parametrize("transform", ["plain", "linearise"])
def test_members_are_over_below_the_last_loss(transform: str, tmp_path: Path) -> None:
    run = train(tmp_path, *WORDS, f"transform={transform}")
    steps, events, ends = (table(run, name) for name in ("steps", "events", "members"))
    last = events[events["threshold"] == 0.5].set_index("seed")["step"]
    assert len(last) == 3 and (last < 400).all()
    assert ends.set_index("seed")["step"].to_dict() == last.to_dict()
    for seed, own in steps.groupby("seed"):
        below = own[own["train_loss"] < 0.5]["step"]
        # The loss of before the update: one row is below, that of the last update.
        assert below.tolist() == [last[seed] - 1]
    # Looked at once where it ended, whatever the schedule.
    seen = table(run, "snapshot").groupby(["seed", "step", "example"]).size()
    assert (seen == 1).all()


def test_a_single_network_is_over_below_the_last_loss_and_looked_at_once(tmp_path: Path) -> None:
    words = [word for word in WORDS if "members" not in word]
    run = train(tmp_path, *words, "seed=3")
    events, steps = table(run, "events"), table(run, "steps")
    assert steps["step"].max() + 1 == events["step"].max() < 400
    assert (table(run, "snapshot").groupby(["step", "example"]).size() == 1).all()
    assert not table(run, "evals").duplicated(["step", "split", "subset"]).any()


def test_a_row_for_every_so_many_updates(tmp_path: Path) -> None:
    words = [word for word in LINEAR if "stop_after" not in word and "steps" not in word]
    words += ["optim.steps=50", "probing.losses=[]", "probe=[]"]
    whole = table(train(tmp_path, *words), "steps")
    some = table(train(tmp_path, *words, "keep.updates=7"), "steps")
    expected = whole[whole["step"] % 7 == 0].reset_index(drop=True)
    pd.testing.assert_frame_equal(some, expected)


@pytest.mark.usefixtures("made_images")
def test_members_in_function_space_may_have_frozen_statistics(tmp_path: Path) -> None:
    words = (*TINY, "data=cifar10", "model=resnet18", "model.base=1", "probe=[]")
    words += ("transform=linearise", "transform.batch_norm=eval", "transform.route=function")
    words += ("optim.steps=4", "optim.lr=0.001", "data.train_examples=12", "optim.batch_size=4")
    together = train(tmp_path, *words, "members={seed: [1, 2]}")
    both = torch.load(together / "weights.pt")
    for place, seed in enumerate((1, 2)):
        alone = train(tmp_path, *words, f"seed={seed}")
        own = table(together, "steps").query("seed == @seed").drop(columns="seed")
        theirs = table(alone, "steps")
        pd.testing.assert_frame_equal(own.reset_index(drop=True), theirs, rtol=1e-4)
        for name, weight in torch.load(alone / "weights.pt").items():
            torch.testing.assert_close(both[name][place], weight, rtol=1e-4, atol=1e-5)


def test_there_must_be_a_loss_to_stop_after() -> None:
    with pytest.raises(UserError, match=r"optim\.stop_after_losses=true"):
        composed([*LINEAR, "probe=[]", "probing.losses=[]"])
