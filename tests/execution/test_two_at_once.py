"""Two commands that overlap: each run is computed once, and what is finished stays finished."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from ntkexp.results.status import status_text
from tests.conftest import TINY_DISK, Ntkexp

LATE = Path(__file__).with_name("waits_before_its_lock.py")


def started(*words: str | Path, cwd: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *words], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def waiting(top: Path, *words: str) -> subprocess.Popen[str]:
    """A command that has asked whether its run is done, and has not taken its lock yet."""
    process = started(LATE, "ready", "go", *words, cwd=top)
    deadline = time.monotonic() + 120
    while not (top / "ready").exists():
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()
        time.sleep(0.02)
    return process


def goes_on(process: subprocess.Popen[str], top: Path) -> str:
    """What it prints from there to its end."""
    (top / "go").touch()
    out, errors = process.communicate(timeout=120)
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


def test_the_same_sweep_from_two_terminals_computes_each_run_once(tmp_path: Path) -> None:
    """In opposite orders, so that each finds what the other has done since it began."""
    words = ("-m", "ntkexp", "train", "-m", *TINY_DISK, "launcher.jobs=1", "optim.steps=300")
    both = [
        started(*words, f"seed={seeds}", cwd=tmp_path) for seeds in ("1,2,3,4,5,6", "6,5,4,3,2,1")
    ]
    for process in both:
        out, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors
        assert out.splitlines()[-1].startswith("6 jobs: 6 finished")
    runs = list(tmp_path.glob("outputs/disk/*"))
    assert [lives(run) for run in runs] == [1] * 6
    logs = "".join((run / "log.txt").read_text() for run in runs)
    assert logs.count("finished outputs") == 6
