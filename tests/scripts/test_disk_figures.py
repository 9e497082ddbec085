"""Figures 1 and 10 from a real, tiny run: drawn twice to the same bytes, without torch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import TINY_DISK, Ntkexp

SCRIPTS = Path(__file__).parents[2] / "scripts"
STEMS = ["fig01_disk_eigenfunctions", "fig10_disk_data"]


def drawn(stem: str, tmp_path: Path, out: str) -> dict[str, bytes]:
    source = (
        "import runpy, sys\n"
        f"sys.argv = ['figure', '--runs', 'outputs/disk', '--out', {out!r}]\n"
        f"sys.path.insert(0, {str(SCRIPTS)!r})\n"
        "try:\n"
        f"    runpy.run_path({str(SCRIPTS / (stem + '.py'))!r}, run_name='__main__')\n"
        "except SystemExit as end:\n    assert not end.code, end.code\n"
        "assert 'torch' not in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", source],
        cwd=tmp_path,
        env=os.environ,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return {path.name: path.read_bytes() for path in (tmp_path / out).iterdir()}


@pytest.mark.parametrize("stem", STEMS)
def test_the_same_run_gives_the_same_bytes(ntkexp: Ntkexp, tmp_path: Path, stem: str) -> None:
    assert ntkexp("train", *TINY_DISK, "probe.eigenfunctions.count=20").returncode == 0
    first = drawn(stem, tmp_path, "first")
    assert sorted(first) == [f"{stem}.{kind}" for kind in ("pdf", "png", "svg")]
    assert first == drawn(stem, tmp_path, "second")


@pytest.mark.parametrize("stem", STEMS)
def test_without_runs_it_says_which_command_makes_them(tmp_path: Path, stem: str) -> None:
    done = subprocess.run(
        [sys.executable, SCRIPTS / f"{stem}.py"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 3
    assert "ntkexp train +exp=disk" in done.stderr
