"""Disks that lack what local ones have: no links, no fsync of folders, no flock."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ntkexp.errors import RunTakenError
from ntkexp.results import files
from ntkexp.results.lock import Lock, is_locked, kernel, pids
from tests.conftest import TINY_DISK, Ntkexp


@pytest.fixture(autouse=True)
def untold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_told", set())


def without_links(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def link(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", link)


def without_folder_sync(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    real = os.fsync

    def fsync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(number, os.strerror(number))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)


def without_flock(monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOSYS, errno.ENOTSUP, errno.EMLINK])
def test_a_run_finishes_where_there_are_no_links(
    inside: Ntkexp, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    without_links(monkeypatch, number)
    done = inside("train", *TINY_DISK)
    assert done.returncode == 0
    assert done.stderr.count("this file system has no links") == 1
    assert "done already" in inside("train", *TINY_DISK).stdout


@pytest.mark.parametrize("number", [errno.EINVAL, errno.EBADF, errno.ENOTSUP])
def test_a_run_finishes_where_folders_cannot_be_synced(
    inside: Ntkexp, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    without_folder_sync(monkeypatch, number)
    done = inside("train", *TINY_DISK)
    assert done.returncode == 0
    assert done.stderr.count("this file system cannot be told to write names down") == 1


def test_an_input_output_error_stays_one(inside: Ntkexp, monkeypatch: pytest.MonkeyPatch) -> None:
    without_folder_sync(monkeypatch, errno.EIO)
    refused = inside("train", *TINY_DISK)
    assert refused.returncode == 2 and "cannot write" in refused.stderr


def test_without_links_one_process_works_on_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_links(monkeypatch, errno.EPERM)
    path = tmp_path / "lock"
    first = Lock(path)
    first.take()
    assert is_locked(path)
    with pytest.raises(RunTakenError, match=f"process {os.getpid()} on "):
        Lock(path).take()
    first.release()
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_is_being_made_is_not_taken_for_a_stale_one(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.touch()
    with pytest.raises(RunTakenError, match="another process"):
        Lock(path).take()
    os.utime(path, (time.time() - 11, time.time() - 11))
    lock = Lock(path)
    lock.take()
    lock.release()


def owned_by(path: Path, pid: int, *, seconds_ago: float = 0.0) -> None:
    owner = {"host": socket.gethostname(), "kernel": kernel(), "pid": pid, "pids": pids()}
    path.write_text(json.dumps(owner))
    os.utime(path, (time.time() - seconds_ago,) * 2)


def test_without_flock_a_dead_process_of_this_machine_holds_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_flock(monkeypatch)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    owned_by(tmp_path / "lock", ended.pid)
    lock = Lock(tmp_path / "lock")
    lock.take()
    lock.release()


def test_without_flock_it_is_told_who_is_silent_and_until_when(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_flock(monkeypatch)
    owned_by(tmp_path / "lock", os.getpid(), seconds_ago=300)
    with pytest.raises(
        RunTakenError, match=r"process \d+ on .*, silent for 30\d s; it is taken over at \d\d:\d\d"
    ):
        Lock(tmp_path / "lock").take()
