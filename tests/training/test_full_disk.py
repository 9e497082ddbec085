"""A disk that fills up: one clear line, nothing lost, and with room again the run goes on."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from ntkexp.results.status import begun
from tests.conftest import TINY_DISK, Ntkexp

JOB = (*TINY_DISK, "probe.eigenfunctions.count=30", "data.grid=20", "checkpoint.every_seconds=0")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own with room for a beginning."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "ntkexp-test", folder], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("this user may not mount a file system")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_disk_that_fills_up_loses_nothing(
    ntkexp: Ntkexp, inside: Ntkexp, small_disk: Path, tmp_path: Path
) -> None:
    words = ("train", *JOB, f"paths.outputs={small_disk}")
    full = ntkexp(*words)
    assert full.returncode == 2
    assert "No space left on device" in full.stderr
    assert len(full.stderr.splitlines()) <= 2, full.stderr
    run = next(small_disk.glob("disk/*"))
    assert begun(run)

    subprocess.run(["mount", "-o", "remount,size=64m", small_disk], check=True)
    resumed = ntkexp(*words)
    assert resumed.returncode == 0, resumed.stderr
    assert "resuming" in resumed.stdout

    assert inside("train", *JOB, f"paths.outputs={tmp_path / 'roomy'}").returncode == 0
    for table in run.glob("*.parquet"):
        whole = tmp_path / "roomy" / "disk" / run.name / table.name
        pd.testing.assert_frame_equal(pd.read_parquet(table), pd.read_parquet(whole))
