"""One run, one process: whoever else comes is told, and whoever is gone is replaced."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ntkexp.errors import RunTakenError, UserError
from ntkexp.results import lock as locks
from ntkexp.results.lock import SILENT_SECONDS, Lock, is_locked
from ntkexp.results.status import forget_work, tidy
from ntkexp.results.store import Run

TAKES = """
import sys, time
from pathlib import Path
from ntkexp.results.lock import Lock
from ntkexp.errors import RunTakenError
lock = Lock(Path(sys.argv[1]))
time.sleep(max(0, float(sys.argv[2]) - time.time()))
try:
    lock.take()
except RunTakenError:
    print("taken", flush=True)
else:
    print("mine", flush=True)
    time.sleep(float(sys.argv[3]))
"""


def process(path: Path, *, at: float = 0.0, stays: float = 0.0) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", TAKES, str(path), str(at), str(stays)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


def elsewhere(path: Path) -> None:
    path.write_text(json.dumps({"host": "another", "kernel": "another", "pid": 1}))


def test_a_lock_is_held_before_anybody_can_find_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, flock = tmp_path / "lock", fcntl.flock
    there: list[bool] = []

    def watched(descriptor: int, how: int) -> None:
        there.append(path.exists())
        flock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", watched)
    lock = Lock(path)
    lock.take()
    assert path.exists() and there == [False]
    lock.release()


def test_two_processes_cannot_work_on_one_run(tmp_path: Path) -> None:
    first = Lock(tmp_path / "lock")
    first.take()
    assert is_locked(tmp_path / "lock")
    with pytest.raises(RunTakenError, match=f"process {os.getpid()} on "):
        Lock(tmp_path / "lock").take()
    first.release()
    assert not is_locked(tmp_path / "lock")
    second = Lock(tmp_path / "lock")
    second.take()
    second.release()
    assert list(tmp_path.iterdir()) == []


def test_a_draft_that_its_owner_took_for_an_old_one_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that ends tidies up, and may remove the draft of a lock that waits to be linked."""
    link, tries = os.link, []

    def tidied_up(draft: Path, path: Path) -> None:
        tries.append(draft)
        if len(tries) == 1:
            draft.unlink()
        link(draft, path)

    monkeypatch.setattr(os, "link", tidied_up)
    lock = Lock(tmp_path / "lock")
    lock.take()
    assert len(tries) == 2
    assert is_locked(tmp_path / "lock")
    lock.release()


def test_the_lock_of_a_dead_process_is_taken_over(tmp_path: Path) -> None:
    process(tmp_path / "lock").communicate()
    assert (tmp_path / "lock").exists()
    assert not is_locked(tmp_path / "lock")
    Lock(tmp_path / "lock").take()
    assert f'"pid": {os.getpid()}' in (tmp_path / "lock").read_text()


def test_of_many_that_find_a_stale_lock_one_gets_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    process(path).communicate()
    racers = [process(path, at=time.time() + 1.0, stays=2.0) for _ in range(6)]
    words = [racer.communicate()[0].strip() for racer in racers]
    assert sorted(words) == ["mine"] + ["taken"] * 5


def test_a_living_owner_keeps_its_lock_however_silent_and_in_whichever_container(
    tmp_path: Path,
) -> None:
    """Stopped, untouched for a day, and with a process number of another namespace."""
    path = tmp_path / "lock"
    owner = process(path, stays=60)
    try:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "mine\n"
        told = json.loads(path.read_text())
        with path.open("r+") as file:
            file.write(json.dumps(told | {"pid": 2**22 + 1}))
            file.truncate()
        owner.send_signal(signal.SIGSTOP)
        os.utime(path, (0, 0))
        with pytest.raises(RunTakenError):
            Lock(path).take()
        assert is_locked(path)
    finally:
        owner.kill()
        owner.communicate()
    Lock(path).take()


def test_a_lock_on_another_machine_holds_until_it_falls_silent(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    elsewhere(path)
    assert is_locked(path)
    with pytest.raises(RunTakenError, match="process 1 on another"):
        Lock(path).take()
    now = time.time()
    os.utime(path, (now, now - SILENT_SECONDS + 30))
    with pytest.raises(RunTakenError):
        Lock(path).take()
    os.utime(path, (now, now - SILENT_SECONDS - 30))
    assert not is_locked(path)
    Lock(path).take()


def test_the_owner_shows_that_it_lives_while_it_computes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "TOUCH_SECONDS", 0.02)
    lock = Lock(tmp_path / "lock")
    lock.take()
    os.utime(tmp_path / "lock", (0, 0))
    before = time.time()
    while (tmp_path / "lock").stat().st_mtime == 0:
        time.sleep(0.01)
    assert (tmp_path / "lock").stat().st_mtime >= int(before)
    lock.release()


def test_one_that_lost_its_lock_does_not_remove_that_of_its_heir(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first = Lock(path)
    first.take()
    elsewhere(tmp_path / "other")
    (tmp_path / "other").replace(path)
    first.release()
    assert json.loads(path.read_text())["host"] == "another"


@pytest.mark.parametrize("content", ["", "{", "[]", "garbage", '{"pid": "x"}'])
def test_a_damaged_lock_blocks_nobody(tmp_path: Path, content: str) -> None:
    path = tmp_path / "lock"
    path.write_text(content)
    os.utime(path, (0, 0))
    assert not is_locked(path)
    Lock(path).take()


def test_where_files_cannot_be_locked_their_age_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(*arguments: object) -> None:
        raise OSError(locks.errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    path = tmp_path / "lock"
    lock = Lock(path)
    lock.take()
    with pytest.raises(RunTakenError):
        Lock(path).take()
    os.utime(path, (0, time.time() - SILENT_SECONDS - 30))
    assert not is_locked(path)
    Lock(path).take()


def test_without_links_one_of_two_is_refused_and_what_died_is_taken_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(*arguments: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", unsupported)
    path = tmp_path / "lock"
    lock = Lock(path)
    lock.take()
    with pytest.raises(RunTakenError):
        Lock(path).take(grace_seconds=0)
    lock.release()
    process(path).communicate()
    Lock(path).take()
    assert f'"pid": {os.getpid()}' in path.read_text()


def test_a_lock_that_cannot_be_written_does_not_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there are no links it is written in its place."""

    def full(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def unsupported(*arguments: object) -> None:
        monkeypatch.setattr(os, "write", full)
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", unsupported)
    with pytest.raises(UserError, match="No space left"):
        Lock(tmp_path / "lock").take()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot write .*lock") as refused:
        Lock(tmp_path / "absent" / "lock").take()
    assert "\n" not in str(refused.value)


def test_a_finished_run_keeps_no_lock_of_an_owner_that_is_gone(tmp_path: Path) -> None:
    """Killed between the status and the release."""
    with Run(tmp_path / "run", []) as run:
        run.begin("seed: 0\n", {})
        run.finish()
        forget_work(run.folder)
        assert is_locked(run.folder / "lock")
        assert run._lock._descriptor is not None
        os.close(run._lock._descriptor)
        run._lock._descriptor = None
    assert (tmp_path / "run" / "lock").exists()
    tidy(tmp_path / "run")
    assert not (tmp_path / "run" / "lock").exists()
