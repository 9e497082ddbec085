"""Kill it anywhere: the final tables and weights are those of an undisturbed run, bit for bit."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from ntkexp.cli import main
from ntkexp.results.status import has_commits
from tests.conftest import TINY_DISK, Start
from tests.forked import killed_until_done

JOB = (*TINY_DISK, "optim.steps=100", "probing.growth=1.3", "optim.batch_size=16", "data.grid=10")


def files(top: Path) -> dict[str, bytes]:
    run = next(top.glob("outputs/*/*/status.json")).parent
    assert '"finished"' in (run / "status.json").read_text()
    kept = {
        path.name: path.read_bytes() for path in run.iterdir() if path.suffix in (".parquet", ".pt")
    }
    assert not (run / "unfinished").exists()
    return kept


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    top = tmp_path_factory.mktemp("undisturbed")
    assert main(["train", *JOB, f"paths.outputs={top / 'outputs'}"]) == 0
    return files(top)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.on_demand)])
def test_kills_at_random_moments_leave_no_trace(
    tmp_path: Path, undisturbed: dict[str, bytes], seed: int
) -> None:
    words = [*JOB, "checkpoint.every_seconds=0.05"]
    # How many kills hit it before it is done depends on how fast the machine is.
    assert killed_until_done(["train", *words], tmp_path, seed, 0.2) >= 1
    assert files(tmp_path) == undisturbed


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_asked_to_stop_it_commits_and_the_same_command_goes_on(
    start: Start, tmp_path: Path, undisturbed: dict[str, bytes], number: signal.Signals
) -> None:
    # No checkpoint by the clock: what is there afterwards is the work of the signal.
    words = [*JOB, "checkpoint.every_seconds=1e6"]
    process = start("train", *words)
    while not list(tmp_path.glob("outputs/*/*/status.json")) and process.poll() is None:
        time.sleep(0.005)
    process.send_signal(number)
    _, told = process.communicate()
    if process.returncode:  # zero: it was faster than the signal, and files() below still judges
        assert process.returncode == 128 + number
        assert "interrupted" in told
        run = next(tmp_path.glob("outputs/*/*"))
        assert has_commits(run)
        assert '"interrupted"' in (run / "status.json").read_text()
    assert start("train", *words).done().returncode == 0
    assert files(tmp_path) == undisturbed


def test_a_second_process_keeps_off_a_run_that_is_worked_on(start: Start, tmp_path: Path) -> None:
    words = ["train", *JOB, "optim.steps=100000"]
    process = start(*words)
    while not list(tmp_path.glob("outputs/*/*/status.json")):
        assert process.poll() is None
        time.sleep(0.01)
    second = start(*words).done()
    assert second.returncode == 2
    assert f"process {process.pid}" in second.stderr
