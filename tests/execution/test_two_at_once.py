"""Two commands that overlap: each run is computed once, and what is finished stays finished."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path

from ntkexp.cli import main
from ntkexp.results.status import status_text
from ntkexp.results.store import Run
from tests.conftest import TINY_DISK, Ntkexp, Start
from tests.forked import Forked


def waits_before_its_lock(words: Sequence[str]) -> int:
    """In a fork: before it takes a lock it makes the file `ready`, and waits for `go`."""
    enter = Run.__enter__

    def late(run: Run) -> Run:
        Path("ready").touch()
        while not Path("go").exists():
            time.sleep(0.01)
        return enter(run)

    Run.__enter__ = late  # type: ignore[method-assign]
    return main(words)


def waiting(top: Path, *words: str) -> Forked:
    """A command that has asked whether its run is done, and has not taken its lock yet."""
    process = Forked(words, top, function=waits_before_its_lock)
    while not (top / "ready").exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    return process


def goes_on(process: Forked, top: Path) -> str:
    """What it prints from there to its end."""
    (top / "go").touch()
    out, errors = process.communicate()
    assert process.returncode == 0, errors
    return out


def lives(run: Path) -> int:
    return len(json.loads((run / "provenance.json").read_text())["lives"])


def test_a_run_that_another_finished_meanwhile_is_done(inside: Ntkexp, tmp_path: Path) -> None:
    late = waiting(tmp_path, "train", *TINY_DISK)
    assert inside("train", *TINY_DISK).stdout.startswith("finished")
    (run,) = tmp_path.glob("outputs/disk/*")
    before = {file.name: file.read_bytes() for file in run.iterdir()}
    assert goes_on(late, tmp_path).startswith("done already")
    assert {file.name: file.read_bytes() for file in run.iterdir()} == before


def test_a_job_whose_run_another_finished_meanwhile_is_done(inside: Ntkexp, tmp_path: Path) -> None:
    late = waiting(tmp_path, "train", "-m", *TINY_DISK, "seed=1")
    assert inside("train", *TINY_DISK, "seed=1").stdout.startswith("finished")
    (run,) = tmp_path.glob("outputs/disk/*")
    assert "1 job: 1 finished" in goes_on(late, tmp_path)
    assert lives(run) == 1
    assert not (run / "unfinished").exists()


def test_a_failed_run_that_another_finished_meanwhile_is_not_tried_again(
    inside: Ntkexp, tmp_path: Path
) -> None:
    """`--retry-failed` is about runs that have failed when their turn comes."""
    assert inside("train", *TINY_DISK).returncode == 0
    (run,) = tmp_path.glob("outputs/disk/*")
    before = {file.name: file.read_bytes() for file in run.iterdir()}
    failed = {"state": "failed", "reason": "the loss is not finite", "diverged_at": 3, "schema": 1}
    (run / "status.json").write_text(status_text(failed))
    late = waiting(tmp_path, "train", "-m", *TINY_DISK, "--retry-failed")
    (run / "status.json").write_bytes(before["status.json"])
    assert "1 job: 1 finished" in goes_on(late, tmp_path)
    after = {file.name: file.read_bytes() for file in run.iterdir()}
    assert after.pop("log.txt").startswith(b"done already")
    assert after == before


def test_the_same_sweep_from_two_terminals_computes_each_run_once(
    start: Start, tmp_path: Path
) -> None:
    """In opposite orders, so that each finds what the other has done since it began."""
    words = ("train", "-m", *TINY_DISK, "launcher.jobs=1", "optim.steps=200")
    both = [start(*words, f"seed={seeds}") for seeds in ("1,2,3,4", "4,3,2,1")]
    for process in both:
        out, errors = process.communicate()
        assert process.returncode == 0, errors
        assert out.splitlines()[-1].startswith("4 jobs: 4 finished")
    runs = list(tmp_path.glob("outputs/disk/*"))
    assert [lives(run) for run in runs] == [1] * 4
    logs = "".join((run / "log.txt").read_text() for run in runs)
    assert logs.count("finished outputs") == 4
