"""What a user sees of a sweep whose jobs fail, are done, or are to be left alone."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

from ntkexp.results.status import has_commits
from tests.conftest import TINY_DISK, Ntkexp, Start
from tests.forked import Forked
from tests.launch.failing_jobs import fails_by_seed


def sweep(top: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return Forked(
        ["train", "-m", *TINY_DISK, *words], top, environment, function=fails_by_seed
    ).done()


def states(top: Path) -> list[str]:
    found = [json.loads(file.read_text()) for file in top.glob("outputs/disk/*/status.json")]
    return sorted(status["state"] for status in found)


def test_jobs_fail_alone_and_are_tried_again_when_that_makes_sense(tmp_path: Path) -> None:
    first = sweep(tmp_path, "seed=1,2,3,4,5", "launcher.jobs=2")
    assert first.returncode == 1, first.stderr
    assert "5 jobs" in first.stdout
    assert "2 finished" in first.stdout
    assert states(tmp_path) == ["failed"] * 3 + ["finished"] * 2
    told = {line.split()[0]: line for line in first.stdout.splitlines() if "seed=" in line}
    assert sorted(told) == ["seed=3", "seed=4", "seed=5"]
    for seed, reason, story in (
        ("seed=3", "RuntimeError: the well is dry", "in raises"),
        ("seed=4", "killed by SIGKILL", ""),
        ("seed=5", "memory", "wants_too_much_memory"),
    ):
        assert reason in told[seed]
        assert story in (tmp_path / told[seed].split()[-1]).read_text()

    # What raised would raise again; what was killed may have been in somebody's way.
    second = sweep(tmp_path, "seed=1,2,3,4,5", MENDED="1")
    assert second.returncode == 1
    assert states(tmp_path) == ["failed"] * 2 + ["finished"] * 3
    assert "--retry-failed" in second.stdout

    third = sweep(tmp_path, "seed=1,2,3,4,5", "--retry-failed", MENDED="1")
    assert third.returncode == 0, third.stdout
    assert states(tmp_path) == ["finished"] * 5


def test_fail_fast_stops_the_others_and_starts_no_more(tmp_path: Path) -> None:
    done = sweep(tmp_path, "seed=6,3,1,2", "launcher.jobs=2", "--fail-fast")
    assert done.returncode == 1
    assert "1 failed" in done.stdout
    assert "2 not started" in done.stdout
    assert "seed=6" in done.stdout  # asked to stop in its sleep


def test_a_dry_run_tells_what_is_done_and_does_nothing(inside: Ntkexp, tmp_path: Path) -> None:
    inside("train", *TINY_DISK, "seed=2")
    told = inside("train", "-m", *TINY_DISK, "seed=1,2", "--dry-run")
    assert told.returncode == 0, told.stderr
    assert "1 done already" in told.stdout
    assert "1 to run" in told.stdout
    assert states(tmp_path) == ["finished"]
    assert inside("train", *TINY_DISK, "--dry-run").stdout.startswith("1 job")


def test_a_finished_sweep_starts_nothing(inside: Ntkexp, tmp_path: Path) -> None:
    words = ("train", "-m", *TINY_DISK, "seed=1,2")
    assert inside(*words).returncode == 0
    before = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*")}
    assert inside(*words).stdout.startswith("2 jobs: 2 done already")
    assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*")} == before


def test_a_signal_goes_to_the_jobs_which_commit(start: Start, tmp_path: Path) -> None:
    words = [*TINY_DISK, "seed=1,2,3", "optim.steps=100000", "launcher.jobs=2"]
    process = start("train", "-m", *words, "checkpoint.every_seconds=1e6")
    while states(tmp_path) != ["running"] * 2 and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    told, _ = process.communicate()
    assert process.returncode == 128 + signal.SIGINT
    assert "2 interrupted" in told
    assert states(tmp_path) == ["interrupted"] * 2
    assert sum(has_commits(run) for run in tmp_path.glob("outputs/disk/*")) == 2


def test_a_launcher_of_ones_own_is_chosen_by_its_name(inside: Ntkexp) -> None:
    mine = ("launcher=tests.launch.own_launchers.OneByOne", "launcher.times=2")
    done = inside("train", "-m", *TINY_DISK, "seed=1,2", *mine)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("one by one, one by one, 2\n2 jobs: 2 finished")
    refused = inside("train", "-m", *TINY_DISK, "seed=1,2", "launcher=pathlib.Path")
    assert "expected a class that inherits from that of ntkexp.config" in refused.stderr
