"""Members of a work of one's own: one stack, which makes the steps that each would make alone."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from ntkexp.checkpoint import restored
from ntkexp.config import StudyConfig
from ntkexp.errors import Interrupted
from ntkexp.optim.adam import Adam, AdamUpdate
from ntkexp.progress import reporting_to, track
from ntkexp.studies.stepped import Row, SteppedWork
from ntkexp.training.loop import _stopping
from ntkexp.training.members.side_by_side import Members
from ntkexp.training.members.stepped import StackedSteps, are_alike, side_by_side
from ntkexp.training.study import Place, prepare
from tests.tiny_runs import goes_on, train
from tests.training.made_works import Duel

STUDY = ("study=tests.training.made_works.Duel", "probe=[]", "progress=false")
MEMBERS = "members={study.seed: [1, 5], study.lr: [0.1, 0.05]}"


def works(*studies: Duel) -> list[object]:
    return [study.work(Place(StudyConfig(study=study), torch.device("cpu"))) for study in studies]


def test_a_stack_trains_every_member_as_alone_statistics_and_all(tmp_path: Path) -> None:
    together = train(tmp_path, *STUDY, MEMBERS, command="study")
    table = pd.read_parquet(together / "duel.parquet")
    made = restored((together / "maker.pt").read_bytes())
    for index, (seed, lr) in enumerate(itertools.product((1, 5), (0.1, 0.05))):
        options = (f"study.seed={seed}", f"study.lr={lr}")
        alone = train(tmp_path, *STUDY, *options, command="study")
        expected = pd.read_parquet(alone / "duel.parquet")
        own = table[(table["study.seed"] == seed) & (table["study.lr"] == lr)]
        np.testing.assert_allclose(own[expected.columns], expected, rtol=1e-3, atol=1e-4)
        for name, tensor in restored((alone / "maker.pt").read_bytes()).items():
            torch.testing.assert_close(made[name][index], tensor, rtol=1e-3, atol=1e-4)
    assert made["1.num_batches_tracked"].tolist() == [40, 40, 40, 40]


@pytest.mark.parametrize("stop", [1, 7])
def test_a_stack_that_was_cut_short_goes_on_bit_for_bit(stop: int, tmp_path: Path) -> None:
    goes_on(tmp_path, *STUDY, MEMBERS, command="study", stop_at=stop)


def test_only_what_is_alike_is_a_stack() -> None:
    assert are_alike(works(Duel(seed=1), Duel(seed=2, push=3.0, lr=0.2)))
    assert not are_alike(works(Duel(), Duel(width=7)))
    # The loss of the first member would be taken for all.
    assert not are_alike(works(Duel(), Duel(scale=2.0)))


def test_asking_whether_they_are_alike_changes_nothing() -> None:
    asked, before = works(Duel(seed=1), Duel(seed=2)), works(Duel(seed=1), Duel(seed=2))
    assert are_alike(asked)
    for one, other in zip(asked, before, strict=True):
        for name, network in one.networks.items():  # type: ignore[attr-defined]
            expected = other.networks[name].state_dict()  # type: ignore[attr-defined]
            for key, tensor in network.state_dict().items():
                assert torch.equal(tensor, expected[key]), key


def test_a_rate_that_an_optimiser_decides_is_the_same_in_a_stack(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def rate(update: AdamUpdate, planned: float) -> float:
        return planned / (1 + update.updates)

    monkeypatch.setattr(AdamUpdate, "rate", rate)
    studies = [Duel(seed=1), Duel(seed=2)]
    stacked, alone = works(*studies), works(*studies)
    side_by_side(stacked, [{}, {}], []).advance(2)  # type: ignore[arg-type]
    for ours, theirs in zip(stacked, alone, strict=True):
        theirs.advance(2)  # type: ignore[attr-defined]
        judges = [work.networks["judge"].state_dict() for work in (ours, theirs)]  # type: ignore[attr-defined]
        torch.testing.assert_close(*judges, rtol=1e-4, atol=1e-6)


def test_a_weight_that_no_loss_uses_stays_as_it_is_alone_and_in_a_stack() -> None:
    studies = [Duel(seed=1), Duel(seed=2)]
    stacked, alone = works(*studies), works(*studies)
    for work in (*stacked, *alone):
        judge = work.networks["judge"]  # type: ignore[attr-defined]
        judge.register_parameter("unused", torch.nn.Parameter(torch.ones(1)))
        work.updates["judge"] = Adam().build(judge.parameters())  # type: ignore[attr-defined]
    together = side_by_side(stacked, [{}, {}], [])  # type: ignore[arg-type]
    assert isinstance(together, StackedSteps)
    together.advance(2)
    for ours, theirs in zip(stacked, alone, strict=True):
        theirs.advance(2)  # type: ignore[attr-defined]
        judges = [work.networks["judge"].state_dict() for work in (ours, theirs)]  # type: ignore[attr-defined]
        torch.testing.assert_close(*judges, rtol=1e-4, atol=1e-6)
        assert judges[0]["unused"].item() == 1


class Slow(SteppedWork):
    """Tells of its progress inside of a step: there a signal may stop it."""

    def update(self, step: int) -> Row:
        for _ in track(range(2), "slow"):
            pass
        return {}


def test_members_that_were_stopped_within_a_step_go_on_in_step() -> None:
    works = [Slow(last=3), Slow(last=3)]
    members = Members(works, [{}, {}], [])
    questions = itertools.count()
    # The second member's first step is cut short.
    with pytest.raises(Interrupted), reporting_to(_stopping(lambda: next(questions) == 2)):
        members.advance(1)
    assert [work.step for work in works] == [1, 0]
    members.advance(1)
    assert [work.step for work in works] == [1, 1]


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_a_member_that_diverges_leaves_the_others_alone(scale: float) -> None:
    members = [Duel(seed=1), Duel(seed=2, lr=1e30, scale=scale)]
    configs = [({"study.seed": one.seed}, StudyConfig(study=one)) for one in members]
    work = prepare(configs[0][1], configs).work
    assert type(work) is (StackedSteps if scale == 1.0 else Members)
    while not work.over:
        work.advance(work.last)
    assert isinstance(work, Members)
    assert [*work.diverged] == [1]
    assert work.works[0].step == 20
