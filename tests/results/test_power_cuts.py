"""A power cut: of files and of names in folders only those stay that were synced.

What POSIX promises, and no more. A model of the disk follows every call that changes it; after each
commit and each end of a run, what is promised must be in the part that is down for good.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ntkexp.results.commits import read_chain
from ntkexp.results.status import read_status, refuse_damaged
from ntkexp.results.store import Run
from ntkexp.results.table import STEP, Table, float64
from tests.conftest import TINY_DISK, Ntkexp

LOSSES = Table("losses", "one row a step", {"step": STEP, "loss": float64("in nats")})


@dataclass
class Disk:
    """The synced contents of files, by inode, and the synced names of folders, by inode."""

    root: Path
    contents: dict[int, bytes] = field(default_factory=dict)
    names: dict[int, dict[str, int]] = field(default_factory=dict)
    folders: set[int] = field(default_factory=set)
    alive: list[int] = field(default_factory=list)

    def sync(self, descriptor: int) -> None:
        """What fsync of a file or a folder makes last."""
        place, inode = Path(f"/proc/self/fd/{descriptor}").readlink(), os.fstat(descriptor).st_ino
        # Kept open: an inode that is freed would come back as another file's.
        self.alive.append(os.dup(descriptor))
        if not place.is_dir():
            self.contents[inode] = place.read_bytes()
            return
        self.names[inode] = {one.name: one.lstat().st_ino for one in place.iterdir()}
        for one in place.iterdir():
            # An inode of a folder that went may be that of a file now.
            (self.folders.add if one.is_dir() else self.folders.discard)(one.lstat().st_ino)

    def after_a_cut(self, target: Path) -> None:
        """Write down what is left."""
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        self._left(self.root.stat().st_ino, target)

    def _left(self, inode: int, target: Path) -> None:
        for name, inside in self.names.get(inode, {}).items():
            if inside in self.folders:
                (target / name).mkdir()
                self._left(inside, target / name)
            else:
                (target / name).write_bytes(self.contents.get(inside, b""))


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    (tmp_path / "disk").mkdir()
    model, real = Disk(tmp_path / "disk"), os.fsync

    def fsync(descriptor: int) -> None:
        real(descriptor)
        model.sync(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    yield model
    for descriptor in model.alive:
        os.close(descriptor)


def test_every_commit_is_there_after_a_cut(disk: Disk, tmp_path: Path) -> None:
    folder, left = disk.root / "outputs" / "disk" / "0123456789ab", tmp_path / "left"
    for life in range(3):
        with Run(folder, [LOSSES]) as run:
            run.resume()
            run.begin("seed: 0\n", {})
            for _ in range(4):
                done = run.commits + 1
                run.add("losses", {"step": [done], "loss": [1.0 / done]})
                run.keep(f"weights.{done}.pt", b"weights")
                run.commit(f"state {done}".encode())
                disk.after_a_cut(left)
                committed = left / folder.relative_to(disk.root) / "unfinished" / "committed"
                chain = read_chain(committed)
                assert len(chain) == done, f"life {life}"
                assert chain[-1].checkpoint.read(committed) == f"state {done}".encode()
                for commit in chain:
                    for stored in (*commit.parts, *commit.files):
                        stored.read(committed)


def test_a_finished_run_is_there_after_a_cut(disk: Disk, inside: Ntkexp, tmp_path: Path) -> None:
    left = tmp_path / "left"
    for seed in range(3):
        words = ("train", *TINY_DISK, "checkpoint.every_seconds=0", f"seed={seed}")
        assert inside(*words, f"paths.outputs={disk.root}/a/b").returncode == 0
        disk.after_a_cut(left)
        finished = [place.parent for place in left.glob("a/b/disk/*/status.json")]
        assert len(finished) == seed + 1
        for folder in finished:
            status: Any = read_status(folder)
            assert status["state"] == "finished"
            refuse_damaged(folder, status)
            assert len(status["files"]) > 4
