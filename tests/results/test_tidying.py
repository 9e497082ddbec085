"""What a finished run needs no more is removed under its lock, and in the end always."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ntkexp.compose.plan import Plan
from ntkexp.compose.words import word
from ntkexp.execution.outcome import DONE
from ntkexp.launch.job import Job, Outcome, set_outcome
from ntkexp.results.status import read_status, tidy
from ntkexp.results.store import Run
from tests.conftest import TINY_DISK, Ntkexp
from tests.tiny_runs import composed

WEIGHTS = ("train", *TINY_DISK, "optim.steps=5", "seed=1")


def left_by_a_kill(folder: Path) -> None:
    """As a process leaves a run that was killed behind the status `finished`."""
    (folder / "unfinished" / "committed").mkdir(parents=True)
    (folder / "unfinished" / "committed" / "00000001.0001.checkpoint").write_bytes(b"state")
    (folder / ".unfinished.0a0a.tmp").mkdir()
    (folder / "lock").write_text("{}")
    os.utime(folder / "lock", (0, 0))


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_bystander_leaves_a_run_that_is_being_done_again(disk_run: Path) -> None:
    whole = names(disk_run)
    with Run(disk_run, ()) as run:
        run.resume()
        tidy(disk_run)
        assert run._drafts.folder.is_dir() and (disk_run / "lock").exists()
        run.write_status("running")
    assert (read_status(disk_run) or {})["state"] == "running"
    assert whole - names(disk_run) == set()


def test_the_next_command_tidies_a_run_and_those_that_it_needs(
    inside: Ntkexp, tmp_path: Path
) -> None:
    words = ("train", *TINY_DISK, "optim.steps=4", "--with-parents")
    shallow = {"model.depth": 2, "model.width": 8, "data.train_examples": 40, "data.grid": 6}
    options = shallow | {"probe.eigenfunctions.count": 4, "optim.steps": 3}
    child = (*words, "weights.run=disk", f"weights.set={word(options)}")
    assert inside(*child).returncode == 0
    folders = [place.parent for place in tmp_path.glob("outputs/disk/*/status.json")]
    assert len(folders) == 2
    before = {folder: names(folder) for folder in folders}
    for folder in folders:
        left_by_a_kill(folder)
    assert "done already" in inside(*child).stdout
    assert inside(*child, "seed=7").returncode == 0
    assert {folder: names(folder) for folder in folders} == before


def test_a_job_that_another_command_does_again_is_done(tmp_path: Path) -> None:
    plan = Plan(config=composed(["+exp=disk"]), folder=tmp_path / "run")
    with Run(plan.folder, ()) as run:
        run.begin("seed: 0\n", {})
    job = Job("seed=0", plan)
    set_outcome(job, DONE, "", stopping=False)
    assert job.outcome is Outcome.finished


@pytest.mark.parametrize("state", ["failed", "interrupted"])
def test_what_did_not_finish_keeps_its_work(tmp_path: Path, state: str) -> None:
    with Run(tmp_path / "run", ()) as run:
        run.begin("seed: 0\n", {})
        run.commit(b"state")
        run.write_status(state)  # type: ignore[arg-type]
    tidy(tmp_path / "run")
    assert (tmp_path / "run" / "unfinished" / "committed").is_dir()
