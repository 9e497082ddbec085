"""Files and folders of another account: named in one line, and nothing else suffers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import TINY_DISK, Ntkexp
from tests.one_process import in_one_process

# What lets root read everything.
MAY = "-dac_override,-dac_read_search"
Secret = Callable[[str], Path]


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


@pytest.fixture
def no_root() -> list[str]:
    """The words before a command that make its account one that is not root."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("root reads everything, and there is no setpriv here")
    return ["setpriv", "--bounding-set", MAY, "--inh-caps", MAY]


@pytest.fixture
def ordinary(no_root: list[str], tmp_path: Path) -> Ntkexp:
    """The command line as such an account has it."""

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*no_root, sys.executable, "-m", "ntkexp", *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
        )

    return run


def test_an_unreadable_run_is_named_and_the_others_are_listed(
    disk_run: Path, ordinary: Ntkexp, secret: Secret
) -> None:
    secret("outputs/disk/of_another")
    found = ordinary("list", "disk")
    assert found.returncode == 0, found.stderr
    assert f"outputs/disk/{disk_run.name}  finished" in found.stdout
    told = "skipped: outputs/disk/of_another: cannot be read (Permission denied)"
    assert found.stderr.splitlines() == [told]


def test_a_status_of_another_account_is_not_called_damaged(
    disk_run: Path, ordinary: Ntkexp
) -> None:
    (disk_run / "status.json").chmod(0)
    found = ordinary("list", "disk")
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


def test_an_unreadable_folder_is_named_in_one_line(
    secret: Secret, no_root: list[str], tmp_path: Path
) -> None:
    folder = str(secret("outputs"))
    places = os.environ | {"NTKEXP_DATA": folder, "NTKEXP_CACHE": folder}
    commands = [words for words, _ in REFUSED]
    ends = in_one_process(commands, tmp_path, places, prefix=no_root)
    for (_, named), end in zip(REFUSED, ends, strict=True):
        assert end.returncode == 2, end.stderr
        (line,) = end.stderr.splitlines()
        assert line.startswith("ntkexp: ")
        assert named in line
        assert "Permission denied" in line
        assert "--rerun" not in line
