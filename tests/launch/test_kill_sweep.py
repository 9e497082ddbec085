"""Kill jobs and launcher anywhere: the sweep ends with the tables of an undisturbed one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import TINY_DISK

KILLER = Path(__file__).with_name("sweep_killer.py")
SWEEP = (
    *TINY_DISK,
    "optim.steps=60",
    "optim.batch_size=16",
    "seed=range(5)",
    "optim.lr=0.01,0.03",
    "launcher.jobs=3",
    "launcher.threads=1",
    "checkpoint.every_seconds=0.1",
)


def results(top: Path) -> dict[str, bytes]:
    """Every table and all weights of a sweep, by their paths."""
    files = sorted(top.glob("outputs/disk/*/*"))
    assert not [file for file in files if file.name in ("unfinished", "lock")]
    return {
        str(file.relative_to(top)): file.read_bytes()
        for file in files
        if file.suffix == ".parquet" or file.name == "weights.pt"
    }


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    top = tmp_path_factory.mktemp("undisturbed")
    command = [sys.executable, "-m", "ntkexp", "train", "-m", *SWEEP]
    subprocess.run(command, cwd=top, check=True, capture_output=True)
    found = results(top)
    assert sum(name.endswith("weights.pt") for name in found) == 10
    return found


@pytest.mark.slow
@pytest.mark.on_demand
@pytest.mark.skipif(sys.platform != "linux", reason="finds the jobs of a launcher through /proc")
def test_killing_jobs_and_launcher_leaves_no_trace(
    tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    done = subprocess.run(
        [sys.executable, KILLER, "0", "10", "train", "-m", *SWEEP],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    launchers, jobs = map(int, done.stdout.splitlines()[-1].split())
    assert launchers >= 2
    assert jobs >= 5
    assert results(tmp_path) == undisturbed
