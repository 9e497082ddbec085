"""What a user sees of the lives of a run: signals, other data, read-only disks, damaged files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
import torch
import yaml

from ntkexp import results
from ntkexp.errors import UserError
from ntkexp.probes import View
from ntkexp.probes.eigenfunctions import Eigenfunctions
from ntkexp.results.status import has_commits, read_status
from tests.conftest import TINY_DISK, Ntkexp, Start
from tests.forked import Forked
from tests.tiny_runs import TINY, make_images

LONG_DISK = (*TINY_DISK, "optim.steps=1000000", "optim.stop_loss=null", "probing.growth=2")
MNIST = ("train", "+exp=mlp_mnist", *TINY, "model.width=8", "model.depth=2", "optim.steps=20")


def the_run(top: Path) -> Path:
    [folder] = {path.parent for path in top.glob("outputs/*/*/*") if path.is_file()}
    return folder


def until(holds: Callable[[], object], process: Forked | subprocess.Popen[str]) -> None:
    """Wait for what comes while this process lives."""
    while not holds():
        assert process.poll() is None, "it never came to that"
        time.sleep(0.01)


@pytest.mark.parametrize("asked", [True, False])
def test_a_reader_that_has_gone_ends_no_run(tmp_path: Path, asked: bool) -> None:
    """As Ctrl-C under `| tee`, which ends both, or `| head`."""
    reading, writing = os.pipe()
    words = ("train", *(LONG_DISK if asked else TINY_DISK), "progress=true")
    process = Forked(words, tmp_path, closed=[reading], stderr=writing)
    os.close(writing)
    os.close(reading)
    if asked:
        until(lambda: list(tmp_path.glob("outputs/*/*/status.json")), process)
        process.send_signal(signal.SIGINT)
    assert process.wait() == (128 + signal.SIGINT if asked else 0)
    (run,) = tmp_path.glob("outputs/*/*")
    assert (read_status(run) or {})["state"] == ("interrupted" if asked else "finished")
    assert not (run / "traceback.txt").exists()


def test_a_run_that_is_done_is_done_though_nobody_can_be_told(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        process = Forked(["train", *TINY_DISK], tmp_path, stdout=full.fileno())
        process.wait()
    _, told = process.communicate()
    assert process.returncode == 0 and told == ""
    (run,) = tmp_path.glob("outputs/*/*")
    assert (read_status(run) or {})["state"] == "finished"


def test_a_second_signal_ends_the_process_wherever_it_is() -> None:
    """Also where nothing looks at what was asked, such as a long computation."""
    program = (
        "import os, signal, sys\n"
        "from ntkexp.execution.process import stop_signals\n"
        "with stop_signals() as asked:\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    print(*asked, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "sys.exit('it went on')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (128 + signal.SIGTERM, "")
    assert done.stdout == f"{signal.SIGINT:d}\n"


@pytest.mark.parametrize("loaded", ["_yaml|libtorch", "_parquet"])
def test_an_interrupt_before_the_run_begins_shows_no_traceback(tmp_path: Path, loaded: str) -> None:
    """Sent when the process has just opened a file of such a name."""
    process = subprocess.Popen(
        [sys.executable, "-m", "ntkexp", "train", *LONG_DISK],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    maps = Path(f"/proc/{process.pid}/maps")
    until(lambda: any(name in maps.read_text() for name in loaded.split("|")), process)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate()
    assert process.returncode == 128 + signal.SIGINT, told
    assert "Traceback" not in told


def test_a_study_goes_on_after_its_last_part(inside: Ntkexp, start: Start, tmp_path: Path) -> None:
    words = ("study", "+exp=fourier_modes", "study.seeds=6", "study.width=8", "study.points=8")
    words += ("study.shown=[0]", "checkpoint.every_seconds=0", "progress=false")

    def commits() -> int:
        return len(list(tmp_path.glob("outputs/*/*/unfinished/committed/*.json")))

    ends = []
    for number in (signal.SIGTERM, signal.SIGKILL):
        before, process = commits(), start(*words)
        until(lambda before=before: commits() > before, process)
        process.send_signal(number)
        ends.append(process.wait())
    assert ends == [128 + signal.SIGTERM, -signal.SIGKILL]
    done = inside(*words)
    assert done.returncode == 0 and "resuming" in done.stdout
    run = the_run(tmp_path)
    whole = inside(*words, "paths.outputs=whole")
    assert whole.returncode == 0
    for table in (tmp_path / "whole").glob("*/*/*.parquet"):
        assert table.read_bytes() == (run / table.name).read_bytes()


@pytest.fixture
def two_data(tmp_path: Path) -> tuple[Path, Path]:
    """Two sets of images that differ in one file."""
    for name in ("one", "other"):
        make_images(tmp_path / name)
    frame = pd.read_parquet(tmp_path / "other" / "mnist" / "test-00000-of-00001.parquet")
    frame["label"] = frame["label"].to_numpy()[::-1]
    frame.to_parquet(tmp_path / "other" / "mnist" / "test-00000-of-00001.parquet")
    return tmp_path / "one", tmp_path / "other"


def test_a_finished_run_does_not_stand_for_other_data(
    inside: Ntkexp, two_data: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    one, other = two_data
    monkeypatch.setenv("NTKEXP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NTKEXP_DATA", str(one))
    assert inside(*MNIST).returncode == 0
    assert "done already" in inside(*MNIST).stdout

    monkeypatch.setenv("NTKEXP_DATA", str(other))
    refused = inside(*MNIST)
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert "mnist/test-00000-of-00001.parquet differs" in refused.stderr
    sweep = inside(*MNIST, "-m", "seed=0")
    assert sweep.returncode == 1
    assert "other data" in sweep.stdout
    # Without the data there is nothing to compare.
    monkeypatch.setenv("NTKEXP_DATA", str(tmp_path / "nowhere"))
    assert "done already" in inside(*MNIST).stdout


def test_a_run_is_not_resumed_on_other_data(
    inside: Ntkexp,
    start: Start,
    two_data: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    one, other = two_data
    monkeypatch.setenv("NTKEXP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NTKEXP_DATA", str(one))
    words = (*MNIST, "optim.steps=100000", "checkpoint.every_seconds=0.2")
    process = start(*words)
    until(lambda: any(has_commits(run) for run in tmp_path.glob("outputs/*/*")), process)
    process.kill()
    process.wait()
    folder = the_run(tmp_path)
    before = sorted(path.name for path in (folder / "unfinished" / "committed").iterdir())

    monkeypatch.setenv("NTKEXP_DATA", str(other))
    refused = inside(*words)
    assert refused.returncode == 2
    assert "was begun from other data" in refused.stderr
    assert sorted(path.name for path in (folder / "unfinished" / "committed").iterdir()) == before


@pytest.fixture
def read_only(tmp_path: Path) -> Callable[[Path], None]:
    def mount(folder: Path) -> None:
        words = ["mount", "--bind", "-o", "ro", str(folder), str(folder)]
        if subprocess.run(words, capture_output=True).returncode:
            pytest.skip("this user may not mount a file system")
        mounted.append(folder)

    mounted: list[Path] = []
    yield mount  # type: ignore[misc]
    for folder in mounted:
        subprocess.run(["umount", folder], check=True)


def test_a_finished_run_on_a_read_only_disk_is_done_already(
    inside: Ntkexp, tmp_path: Path, disk_run: Path, read_only: Callable[[Path], None]
) -> None:
    (disk_run / "unfinished").mkdir()
    owner = json.dumps({"host": "another", "kernel": "another", "pid": 1})
    (disk_run / "lock").write_text(owner)
    read_only(tmp_path / "outputs")
    again = inside("train", *TINY_DISK)
    assert again.returncode == 0, again.stderr
    assert "done already" in again.stdout
    assert inside("train", "-m", *TINY_DISK, "seed=0").returncode == 0
    refused = inside("train", *TINY_DISK, "seed=1")
    assert refused.returncode == 2
    assert "cannot write" in refused.stderr
    assert refused.stderr.count("\n") == 1


def test_a_damaged_status_stops_one_job_and_no_other(
    inside: Ntkexp, tmp_path: Path, disk_run: Path
) -> None:
    damaged = disk_run
    (damaged / "status.json").write_text("[]")
    alone = inside("train", *TINY_DISK)
    assert alone.returncode == 2
    assert alone.stderr.startswith(f"ntkexp: {damaged.relative_to(tmp_path)}/status.json is damag")
    assert "--rerun" in alone.stderr
    assert alone.stderr.count("\n") == 1

    sweep = inside("train", "-m", *TINY_DISK, "seed=0,1")
    assert sweep.returncode == 1
    assert "1 failed, 1 finished" in sweep.stdout or "1 finished, 1 failed" in sweep.stdout
    listed = inside("list")
    assert listed.returncode == 0
    assert "is damaged" in listed.stdout
    assert len(list(results.finished(tmp_path / "outputs"))) == 1

    assert inside("train", *TINY_DISK, "--rerun").returncode == 0
    assert len(list(results.finished(tmp_path / "outputs"))) == 2


@pytest.mark.parametrize("file", ["provenance.json", "config.yaml", "run.json"])
@pytest.mark.parametrize("content", ["{", None])
def test_show_tells_what_it_can_of_a_damaged_run(
    inside: Ntkexp, disk_run: Path, file: str, content: str | None
) -> None:
    if content is None:
        (disk_run / file).unlink()
    else:
        (disk_run / file).write_text(content)
    shown = inside("show", str(disk_run))
    assert shown.returncode == 0, shown.stderr
    assert "steps: 30 rows" in shown.stdout


def test_another_users_stale_lock_is_one_line_or_none(disk_run: Path, inside: Ntkexp) -> None:
    lock = disk_run / "lock"
    lock.write_text("{}")
    lock.chmod(0o444)
    os.utime(lock, (0, 0))
    assert inside("train", *TINY_DISK, "--rerun").returncode == 0


def test_the_step_at_which_a_run_diverged_stands_until_it_is_done_again(
    inside: Ntkexp, tmp_path: Path
) -> None:
    words = ("train", *TINY_DISK, "optim.lr=1e30")
    first = inside(*words)
    assert first.returncode == 1
    folder = the_run(tmp_path).relative_to(tmp_path)
    assert first.stderr.splitlines()[-1].startswith(f"failed {folder}: ")
    assert not list(tmp_path.glob("outputs/*/*/unfinished"))
    again = inside(*words)
    assert again.returncode == 1
    assert again.stdout.startswith(f"failed before: {folder}: ")


def test_a_failure_of_the_code_is_told_in_two_lines_and_its_traceback_kept(
    inside: Ntkexp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: object) -> None:
        raise ZeroDivisionError("a bug")

    with monkeypatch.context() as mended:
        mended.setattr(Eigenfunctions, "measure", broken)
        failed = inside("train", *TINY_DISK, "optim.steps=2")
    assert failed.returncode == 1
    folder = the_run(tmp_path).relative_to(tmp_path)
    line = broken.__code__.co_firstlineno + 1
    reason = f"ZeroDivisionError: a bug ({__file__}:{line})"
    assert failed.stderr.splitlines() == [
        f"failed {folder}: {reason}",
        f"its traceback: {folder / 'traceback.txt'}",
    ]
    assert "in broken" in (tmp_path / folder / "traceback.txt").read_text()
    status = read_status(tmp_path / folder)
    assert status is not None and status["state"] == "failed"
    assert (status["reason"], status["traceback"]) == (reason, "traceback.txt")
    done = inside("train", *TINY_DISK, "optim.steps=2")
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / folder / "traceback.txt").exists()


def test_a_failure_is_told_though_there_is_no_room_to_write_it_down(
    inside: Ntkexp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: object) -> None:
        monkeypatch.setattr(results.Run, "write_text", full)
        raise ZeroDivisionError("a bug")

    def full(*arguments: object) -> None:
        raise UserError("cannot write there: no room")

    monkeypatch.setattr(Eigenfunctions, "measure", broken)
    failed = inside("train", *TINY_DISK, "optim.steps=2")
    assert failed.returncode == 2
    told, mended = failed.stderr.splitlines()
    folder = the_run(tmp_path).relative_to(tmp_path)
    assert told.startswith(f"failed {folder}: ZeroDivisionError: a bug (")
    assert mended == "ntkexp: cannot write there: no room"


def test_what_a_user_can_mend_interrupts_a_run_that_then_goes_on(
    inside: Ntkexp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: object) -> None:
        raise UserError("cannot write there: no room")

    with monkeypatch.context() as mended:
        mended.setattr(Eigenfunctions, "measure", full)
        stopped = inside("train", *TINY_DISK, "optim.steps=2")
    assert stopped.returncode == 2
    assert stopped.stderr.splitlines()[-1] == "ntkexp: cannot write there: no room"
    status = read_status(the_run(tmp_path))
    assert status is not None
    assert (status["state"], status["reason"]) == ("interrupted", "cannot write there: no room")
    done = inside("train", *TINY_DISK, "optim.steps=2")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("finished")


def test_the_config_that_is_kept_says_numbers_where_other_options_were_meant(
    inside: Ntkexp, tmp_path: Path
) -> None:
    words = ("train", *TINY_DISK, "optim.steps=1", "optim.batch_size=${data.train_examples}")
    assert inside(*words).returncode == 0
    kept = yaml.safe_load((the_run(tmp_path) / "config.yaml").read_text())
    assert kept["optim"]["batch_size"] == 40


@pytest.mark.parametrize("number", [1, 2])
def test_a_life_computes_with_the_threads_that_the_run_was_begun_with(
    number: int, inside: Ntkexp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[int] = []
    measure = Eigenfunctions.measure

    def noted(self: Eigenfunctions, view: View) -> object:
        used.append(torch.get_num_threads())
        return measure(self, view)

    monkeypatch.setattr(Eigenfunctions, "measure", noted)
    monkeypatch.setenv("OMP_NUM_THREADS", str(number))
    assert inside("train", *TINY_DISK, "optim.steps=1").returncode == 0
    assert used and set(used) == {number}
