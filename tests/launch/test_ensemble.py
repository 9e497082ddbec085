"""An ensemble is its members: same runs, same tables, numbers equal up to rounding."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import TINY_DISK, Ntkexp

# float32 sums taken in another order differ by parts in 1e7; a hundred steps of SGD make more
# of it, and the smallest eigenvalues and eigenfunctions with them feel it most.
RELATIVE, ABSOLUTE = 2e-3, 2e-4

SWEEP = (
    *TINY_DISK,
    "optim.steps=60",
    "optim.batch_size=16",
    "seed=1,2,3",
    "optim.lr=0.01,0.03",
)
ENSEMBLE = ("launcher=ensemble", "launcher.jobs=1")


def tables(top: Path) -> dict[tuple[str, str], pd.DataFrame]:
    files = sorted(top.glob("outputs/*/*/*.parquet"))
    return {(file.parent.name, file.stem): pd.read_parquet(file) for file in files}


def assert_agree(
    ours: dict[tuple[str, str], pd.DataFrame], theirs: dict[tuple[str, str], pd.DataFrame]
) -> None:
    assert ours.keys() == theirs.keys()
    for key, frame in ours.items():
        assert frame.columns.tolist() == theirs[key].columns.tolist()
        assert frame.dtypes.tolist() == theirs[key].dtypes.tolist()
        for column in frame:
            mine, other = frame[column].to_numpy(), theirs[key][column].to_numpy()
            if frame[column].dtype.kind == "f":
                np.testing.assert_allclose(
                    mine, other, rtol=RELATIVE, atol=ABSOLUTE, err_msg=f"{key} {column}"
                )
            else:
                np.testing.assert_array_equal(mine, other, err_msg=f"{key} {column}")


@pytest.fixture(scope="module")
def separate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("separate")
    command = [sys.executable, "-m", "ntkexp", "train", "-m", *SWEEP]
    subprocess.run(command, cwd=top, check=True, capture_output=True)
    return top


def test_an_ensemble_writes_the_tables_of_separate_runs(
    ntkexp: Ntkexp, tmp_path: Path, separate: Path
) -> None:
    done = ntkexp("train", "-m", *SWEEP, *ENSEMBLE)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "6 jobs: 6 finished\n"
    assert_agree(tables(tmp_path), tables(separate))
    for file in tmp_path.glob("outputs/disk/*/provenance.json"):
        life = json.loads(file.read_text())["lives"][-1]
        assert life["strategy"] == "ensemble"
        assert len(life["members"]) == 6
    sizes = {file.stat().st_size for file in tmp_path.glob("outputs/disk/*/weights.pt")}
    assert sizes == {file.stat().st_size for file in separate.glob("outputs/disk/*/weights.pt")}
