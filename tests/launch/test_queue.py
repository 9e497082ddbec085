"""Jobs that leave SLURM's queue without a word; a script stands in for squeue."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from ntkexp.compose.plan import Plan
from ntkexp.launch import slurm
from ntkexp.launch import slurm as queue
from ntkexp.launch.job import Job, Outcome
from ntkexp.launch.slurm import Queue
from ntkexp.progress import Progress


@pytest.fixture
def squeue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file whose lines squeue prints; without the file it fails."""
    listed = tmp_path / "listed"
    program = tmp_path / "squeue"
    program.write_text(f'#!/bin/sh\nexec cat "{listed}"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(queue, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(queue, "PATIENCE_SECONDS", 0.0)
    return listed


def test_a_job_out_of_the_list_has_left(squeue: Path) -> None:
    squeue.write_text("7_0\n7_2\n")
    assert Queue().left(["7_0", "7_1", "7_2"]) == {"7_1"}


def test_a_queue_that_does_not_answer_says_nothing(
    squeue: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Queue().left(["7_0"]) == set()
    monkeypatch.setenv("PATH", str(squeue.parent / "nowhere"))
    assert Queue().left(["7_0"]) == set()


def test_one_look_is_not_enough(squeue: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(queue.time, "monotonic", lambda: now)
    monkeypatch.setattr(queue, "LOOK_SECONDS", 10.0)
    monkeypatch.setattr(queue, "PATIENCE_SECONDS", 30.0)
    watched = Queue()
    squeue.write_text("")
    assert watched.left(["7"]) == set()
    now = 125.0
    squeue.write_text("7\n")  # back, as after a preemption
    assert watched.left(["7"]) == set()
    now = 135.0
    squeue.write_text("")
    assert watched.left(["7"]) == set()
    now = 164.0
    assert watched.left(["7"]) == set()
    now = 165.0
    assert watched.left(["7"]) == {"7"}


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
    job = Job("seed=1", Plan(config=config, folder=tmp_path / "run"))
    submitted = Silent("7_1", Paths(tmp_path / "7_1.err"))
    with Progress("sweep", 1, shown=False) as progress:
        slurm._wait({submitted: job}, progress, Queue())
    assert job.outcome is Outcome.failed
    assert job.reason.startswith("job 7_1 left the queue")
    assert job.log is None
