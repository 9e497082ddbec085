"""A disk that fills up: one clear line, nothing lost, and with room again the run goes on."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ntkexp.results.status import has_commits
from tests.conftest import TINY_DISK, Ntkexp, SmallDisk

JOB = (*TINY_DISK, "probe.eigenfunctions.count=30", "data.grid=20", "checkpoint.every_seconds=0")


def test_a_disk_that_fills_up_loses_nothing(
    inside: Ntkexp, small_disk: SmallDisk, tmp_path: Path
) -> None:
    disk = small_disk("size=256k")
    words = ("train", *JOB, f"paths.outputs={disk}")
    full = inside(*words)
    assert full.returncode == 2
    assert "No space left on device" in full.stderr
    assert len(full.stderr.splitlines()) <= 2, full.stderr
    run = next(disk.glob("disk/*"))
    assert has_commits(run)

    small_disk("size=64m")
    resumed = inside(*words)
    assert resumed.returncode == 0, resumed.stderr
    assert "resuming" in resumed.stdout

    assert inside("train", *JOB, f"paths.outputs={tmp_path / 'roomy'}").returncode == 0
    for table in run.glob("*.parquet"):
        whole = tmp_path / "roomy" / "disk" / run.name / table.name
        pd.testing.assert_frame_equal(pd.read_parquet(table), pd.read_parquet(whole))
