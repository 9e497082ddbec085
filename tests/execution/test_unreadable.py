"""Files and folders of another account: named in one line, and nothing else suffers."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from ntkexp.cli import main
from tests.conftest import TINY_DISK
from tests.forked import Forked

pytestmark = pytest.mark.skipif(
    os.geteuid() == 0 and sys.platform != "linux", reason="root reads everything"
)
# Of <linux/capability.h>: CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, which let root read everything.
VERSION, MAY_READ_ALL = 0x20080522, 0b110
Secret = Callable[[str], Path]


def ordinary(words: Sequence[str]) -> int:
    """The command as an account has it that is not root; in a process of its own."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        header, held = (ctypes.c_uint32 * 2)(VERSION, 0), (ctypes.c_uint32 * 6)()
        assert libc.capget(header, held) == 0
        for place in (0, 1):  # effective and permitted
            held[place] &= ~MAY_READ_ALL
        assert libc.capset(header, held) == 0
    return main(words)


@pytest.fixture
def secret(tmp_path: Path) -> Iterator[Secret]:
    """Makes folders that nobody may read."""
    made = []

    def make(name: str) -> Path:
        folder = tmp_path / name
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0)
        made.append(folder)
        return folder

    yield make
    for folder in made:
        folder.chmod(0o755)


def test_an_unreadable_run_is_named_and_the_others_are_listed(
    disk_run: Path, tmp_path: Path, secret: Secret
) -> None:
    secret("outputs/disk/of_another")
    found = Forked(["list", "disk"], tmp_path, function=ordinary).done()
    assert found.returncode == 0, found.stderr
    assert f"outputs/disk/{disk_run.name}  finished" in found.stdout
    told = "skipped: outputs/disk/of_another: cannot be read (Permission denied)"
    assert found.stderr.splitlines() == [told]


def test_a_status_of_another_account_is_not_called_damaged(disk_run: Path, tmp_path: Path) -> None:
    (disk_run / "status.json").chmod(0)
    found = Forked(["list", "disk"], tmp_path, function=ordinary).done()
    assert found.returncode == 0, found.stderr
    told = f"outputs/disk/{disk_run.name}: cannot be read (Permission denied)"
    assert found.stdout.splitlines()[1:] == [told]


# Commands whose folder nobody may read, and what they must name.
REFUSED = [
    (["list"], "outputs"),
    (["show", "outputs"], "outputs"),
    (["claims", "--runs", "outputs"], "outputs"),
    (["figures"], "outputs/figures"),
    (["list", "--config-dir", "outputs"], "outputs/exp"),
    (["train", *TINY_DISK], "outputs/disk"),
    (["data"], "outputs"),
    (["data", "--forget"], "outputs"),
    (["train", "+exp=mlp_mnist", "paths.outputs=other"], "outputs/mnist"),
]


@pytest.mark.parametrize(("words", "named"), REFUSED, ids=[" ".join(w[:2]) for w, _ in REFUSED])
def test_an_unreadable_folder_is_named_in_one_line(
    secret: Secret, tmp_path: Path, words: list[str], named: str
) -> None:
    folder = str(secret("outputs"))
    places = {"NTKEXP_DATA": folder, "NTKEXP_CACHE": folder}
    end = Forked(words, tmp_path, places, function=ordinary).done()
    assert end.returncode == 2, end.stderr
    (line,) = end.stderr.splitlines()
    assert line.startswith("ntkexp: ")
    assert named in line
    assert "Permission denied" in line
    assert "--rerun" not in line
