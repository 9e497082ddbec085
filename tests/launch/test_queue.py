"""Jobs that leave SLURM's queue without a word; a script stands in for squeue."""

from __future__ import annotations

import pickle
import time
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
from omegaconf import OmegaConf

from ntkexp.compose.plan import Plan
from ntkexp.errors import UserError
from ntkexp.launch import job, slurm
from ntkexp.launch.job import Job, Outcome
from ntkexp.launch.slices import Answer
from ntkexp.launch.slurm import Queue, Slurm
from ntkexp.progress import Progress


@pytest.fixture
def squeue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file whose lines squeue prints; without the file it fails."""
    listed = tmp_path / "listed"
    program = tmp_path / "squeue"
    program.write_text(f'#!/bin/sh\nexec cat "{listed}"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(slurm, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(slurm, "PATIENCE_SECONDS", 0.0)
    return listed


def test_a_job_out_of_the_list_has_left(squeue: Path) -> None:
    squeue.write_text("7_0\n7_2\n")
    assert [*Queue().left(["7_0", "7_1", "7_2"])] == ["7_1"]


def test_a_queue_that_does_not_answer_says_nothing(
    squeue: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Queue().left(["7_0"]) == {}
    monkeypatch.setenv("PATH", str(squeue.parent / "nowhere"))
    assert Queue().left(["7_0"]) == {}


def test_what_comes_back_has_not_left(squeue: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(slurm.time, "monotonic", lambda: now)
    monkeypatch.setattr(slurm, "LOOK_SECONDS", 10.0)
    watched = Queue()
    squeue.write_text("")
    assert watched.left(["7"]) == {"7": 0}
    now = 125.0
    squeue.write_text("7\n")  # back, as after a preemption
    assert watched.left(["7"]) == {}
    now = 135.0
    squeue.write_text("")
    assert watched.left(["7"]) == {"7": 0}
    now = 164.0
    assert watched.left(["7"]) == {"7": 29}


@pytest.fixture
def six_elements(squeue: Path) -> None:
    """A cluster whose arrays have at most six jobs."""
    program = squeue.with_name("scontrol")
    program.write_text("#!/bin/sh\necho 'MaxArraySize            = 6'\n")
    program.chmod(0o755)


def test_a_job_has_as_many_runs_as_keep_the_array_short(squeue: Path) -> None:
    assert [Slurm()._length(runs) for runs in (1, 1_000, 1_001, 10_000)] == [1, 1, 2, 10]


@pytest.mark.usefixtures("six_elements")
def test_the_cluster_says_how_long_an_array_may_be() -> None:
    assert [Slurm()._length(runs) for runs in (6, 7, 30)] == [1, 2, 5]
    assert Slurm(runs=8)._length(30) == 8
    with pytest.raises(UserError, match=r"launcher.runs=4: .* takes 6 .*; expected 5 or more"):
        Slurm(runs=4)._length(30)


@dataclass(frozen=True)
class Paths:
    stderr: Path


@dataclass(frozen=True)
class Silent:
    """A job of which nothing will ever be heard."""

    job_id: str
    paths: Paths

    def done(self) -> bool:
        return False


def test_a_sweep_does_not_wait_for_a_cancelled_job(squeue: Path, tmp_path: Path) -> None:
    squeue.write_text("")
    config = OmegaConf.create({"rerun": False})
    lost = Job("seed=1", Plan(config=config, folder=tmp_path / "run"))
    submitted = Silent("7_1", Paths(tmp_path / "7_1.err"))
    with Progress("sweep", 1, shown=False) as progress:
        slurm._wait({submitted: [lost]}, progress, Queue())
    assert lost.outcome is Outcome.failed
    assert lost.reason.startswith("job 7_1 left the queue")
    assert lost.log is None


def test_nothing_is_read_of_what_is_in_the_queue(
    squeue: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand jobs of ten runs: one leaves before the first look, all before the second."""
    asked, asked_by_look = list[str](), list[int]()

    class Answering(Silent):
        def done(self) -> bool:
            asked.append(self.job_id)
            return True

        def result(self) -> bytes:
            return pickle.dumps(Answer([(Outcome.finished, "", None)] * 10, 3.0, 1.0))

    ids = [f"7_{number}" for number in range(1_000)]
    plan = Plan(config=OmegaConf.create({"rerun": False}), folder=tmp_path / "run")
    waiting = {
        Answering(id, Paths(tmp_path / "7.err")): [Job("", plan) for _ in range(10)] for id in ids
    }

    def all_leave(seconds: float) -> None:
        asked_by_look.append(len(asked))
        squeue.write_text("")

    # Its own clock: that of subprocess, which waits for squeue, goes on.
    clock = SimpleNamespace(monotonic=time.monotonic, sleep=all_leave)
    monkeypatch.setattr(slurm, "time", clock)
    monkeypatch.setattr(job, "read_status", lambda folder: pytest.fail(f"{folder} was read"))
    squeue.write_text("\n".join(ids[1:]))
    with Progress("sweep", 10_000, shown=False) as progress:
        slurm._wait(dict(waiting), progress, Queue())
    assert asked_by_look == [1] and len(asked) == 1_000
    assert {one.outcome for jobs in waiting.values() for one in jobs} == {Outcome.finished}
