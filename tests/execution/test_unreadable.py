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
def ordinary(tmp_path: Path) -> Ntkexp:
    """The command line as an account has it that is not root."""
    prefix: list[str] = []
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root reads everything, and there is no setpriv here")
        prefix = ["setpriv", "--bounding-set", MAY, "--inh-caps", MAY]

    def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*prefix, sys.executable, "-m", "ntkexp", *words],
            cwd=tmp_path,
            env=os.environ | environment,
            capture_output=True,
            text=True,
            timeout=300,
        )

    return run


def test_an_unreadable_run_is_named_and_the_others_are_listed(
    inside: Ntkexp, ordinary: Ntkexp, secret: Secret, tmp_path: Path
) -> None:
    assert inside("train", *TINY_DISK, "optim.steps=3").returncode == 0
    (own,) = (tmp_path / "outputs" / "disk").iterdir()
    secret("outputs/disk/of_another")
    found = ordinary("list", "disk")
    assert found.returncode == 0, found.stderr
    assert f"outputs/disk/{own.name}  finished" in found.stdout
    told = "skipped: outputs/disk/of_another: cannot be read (Permission denied)"
    assert found.stderr.splitlines() == [told]


def test_a_status_of_another_account_is_not_called_damaged(
    inside: Ntkexp, ordinary: Ntkexp, tmp_path: Path
) -> None:
    assert inside("train", *TINY_DISK, "optim.steps=3").returncode == 0
    (own,) = (tmp_path / "outputs" / "disk").iterdir()
    (own / "status.json").chmod(0)
    found = ordinary("list", "disk")
    assert found.returncode == 0, found.stderr
    told = f"outputs/disk/{own.name}: cannot be read (Permission denied)"
    assert found.stdout.splitlines()[1:] == [told]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["list"], "outputs"),
        (["show", "outputs"], "outputs"),
        (["claims", "--runs", "outputs"], "outputs"),
        (["figures"], "outputs/figures"),
        (["list", "--config-dir", "outputs"], "outputs/exp"),
        (["train", *TINY_DISK], "outputs/disk"),
        (["data"], "outputs"),
        (["data", "--forget"], "outputs"),
        (["train", "+exp=mlp_mnist"], "outputs/mnist"),
    ],
)
def test_an_unreadable_folder_is_named_in_one_line(
    ordinary: Ntkexp, secret: Secret, words: list[str], named: str
) -> None:
    folder = str(secret("outputs"))
    places = {"NTKEXP_DATA": folder, "NTKEXP_CACHE": folder}
    where = [] if "+exp=mlp_mnist" not in words else ["paths.outputs=other"]
    refused = ordinary(*words, *where, **places)
    assert refused.returncode == 2, refused.stderr
    (line,) = refused.stderr.splitlines()
    assert line.startswith("ntkexp: ")
    assert named in line
    assert "Permission denied" in line
    assert "--rerun" not in line
