"""A disk that fails for a moment: the command says so, and the same command then finds everything.

The n-th file or folder that a command opens to read cannot be read, once, for every n.
"""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ntkexp.errors import UnreadableRunError
from ntkexp.results import files
from ntkexp.results.store import Run
from tests.conftest import TINY_DISK, Ntkexp
from tests.tiny_runs import train

WORDS = ("train", *TINY_DISK, "optim.steps=6")
# Which of the looks fail, one after the other.
EVERY = pytest.mark.parametrize("every", [8, pytest.param(1, marks=pytest.mark.on_demand)])
STALE = OSError(errno.ESTALE, os.strerror(errno.ESTALE))


class FailingDisk:
    """Fails at the look number `at` at what lies in `folder`; counts them all."""

    def __init__(self, folder: Path, at: int) -> None:
        self.folder, self.at, self.looks = folder, at, 0

    def look(self, path: object) -> None:
        if isinstance(path, str | os.PathLike) and self.folder in Path(path).absolute().parents:
            self.looks += 1
            if self.looks == self.at:
                raise OSError(STALE.errno, STALE.strerror, str(path))


@contextmanager
def failing(folder: Path, at: int = 0) -> Iterator[FailingDisk]:
    disk = FailingDisk(folder, at)

    def watched(function: Any) -> Any:
        def call(path: object = ".", *arguments: Any, **named: Any) -> Any:
            mode = arguments[0] if arguments else named.get("mode", "r")
            if not isinstance(mode, str) or "r" in mode:
                disk.look(path)
            return function(path, *arguments, **named)

        return call

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(io, "open", watched(io.open))
        patch.setattr(files, "opened", watched(files.opened))
        patch.setattr(os, "scandir", watched(os.scandir))
        patch.setattr(os, "listdir", watched(os.listdir))
        yield disk


def tables(run: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in run.glob("*.parquet")}


def lives(run: Path) -> int:
    return len(json.loads((run / "provenance.json").read_text())["lives"])


def copied(outputs: Path) -> Path:
    """The run in a fresh copy of a folder of runs."""
    there = outputs.with_name("outputs")
    shutil.rmtree(there, ignore_errors=True)
    shutil.copytree(outputs, there)
    (run,) = there.glob("disk/*")
    return run


@EVERY
def test_a_finished_run_that_cannot_be_read_now_is_not_to_be_done_again(
    inside: Ntkexp, tmp_path: Path, every: int
) -> None:
    assert inside(*WORDS).returncode == 0
    (tmp_path / "outputs").rename(tmp_path / "whole")
    run = copied(tmp_path / "whole")
    with failing(run) as disk:
        assert inside(*WORDS).stdout.startswith("done already")
    assert disk.looks >= 8
    for at in range(1, disk.looks + 1, every):
        with failing(run, at):
            found = inside(*WORDS)
        assert "--rerun does" not in found.stderr
        if found.returncode:
            assert found.returncode == 2
            (line,) = found.stderr.splitlines()
            assert "cannot be read (Stale file handle); try again" in line
        assert inside(*WORDS).stdout.startswith("done already")


@EVERY
def test_an_interrupted_run_that_cannot_be_read_now_loses_nothing(
    inside: Ntkexp, tmp_path: Path, every: int
) -> None:
    words = (*WORDS, "checkpoint.every_seconds=0")
    assert inside(*words, "paths.outputs=undisturbed").returncode == 0
    (undisturbed,) = tmp_path.glob("undisturbed/disk/*")
    whole = tables(undisturbed)
    train(tmp_path / "begun", *words[1:], stop_at=3)
    run = copied(tmp_path / "begun")
    with failing(run) as disk:
        assert "resuming" in inside(*words).stdout
    assert tables(run) == whole
    assert disk.looks > 10
    for at in range(1, disk.looks + 1, every):
        run = copied(tmp_path / "begun")
        with failing(run, at):
            found = inside(*words)
        assert "--rerun does" not in found.stderr
        assert "Traceback" not in found.stderr
        if found.returncode:
            assert "cannot be read (Stale file handle); try again" in found.stderr
            again = inside(*words)
            assert again.returncode == 0, again.stderr
            assert "resuming" in again.stdout
        assert tables(run) == whole
        assert lives(run) >= 2


def test_a_missing_file_is_named_with_the_way_out(inside: Ntkexp, tmp_path: Path) -> None:
    assert inside(*WORDS).returncode == 0
    (run,) = tmp_path.glob("outputs/disk/*")
    (run / "weights.pt").unlink()
    (line,) = inside(*WORDS).stderr.splitlines()
    assert "weights.pt is missing; --rerun does the run again" in line


def test_a_provenance_that_cannot_be_read_now_is_not_written_anew(tmp_path: Path) -> None:
    with Run(tmp_path, []) as run:
        run.begin("seed: 0\n", {"host": "here"})
        before = (tmp_path / "provenance.json").read_bytes()
        with failing(tmp_path, at=1), pytest.raises(UnreadableRunError, match="try again"):
            run.note({"seconds": 1.0})
        assert (tmp_path / "provenance.json").read_bytes() == before


def test_commits_that_cannot_be_listed_now_are_not_thrown_away(tmp_path: Path) -> None:
    with Run(tmp_path, []) as run:
        run.begin("seed: 0\n", {})
        run.commit(b"state")
    with Run(tmp_path, []) as again:
        with failing(tmp_path, at=1), pytest.raises(UnreadableRunError, match="try again"):
            again.resume()
        assert again.resume() == b"state"
