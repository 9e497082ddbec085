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

from ntkexp.results.status import begun

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


def test_one_member_may_diverge_and_one_be_fitted_early(
    ntkexp: Ntkexp, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    words = (
        *TINY_DISK,
        "optim.steps=200",
        "optim.batch_size=8",
        "optim.lr=0.003,0.1,1e30",
        "optim.stop_loss=0.25",
    )
    done = ntkexp("train", "-m", *words, *ENSEMBLE)
    assert done.returncode == 1
    assert "2 finished, 1 failed" in done.stdout
    assert "not finite at step" in done.stdout
    alone = tmp_path_factory.mktemp("alone")
    ntkexp("train", "-m", *words, cwd=alone)
    ours, theirs = tables(tmp_path), tables(alone)
    lengths = {len(frame) for (_, table), frame in ours.items() if table == "steps"}
    assert len(lengths) == 3
    assert {k: len(frame) for k, frame in ours.items()} == {k: len(f) for k, f in theirs.items()}


@pytest.mark.slow
def test_killed_members_catch_up_and_go_on_together(tmp_path: Path, separate: Path) -> None:
    words = [*SWEEP, *ENSEMBLE, "checkpoint.every_seconds=0.3"]
    killer = Path(__file__).with_name("sweep_killer.py")
    done = subprocess.run(
        [sys.executable, killer, "1", "6", "train", "-m", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert sum(map(int, done.stdout.splitlines()[-1].split())) >= 3
    assert_agree(tables(tmp_path), tables(separate))


def test_a_run_begun_alone_goes_on_in_an_ensemble(
    ntkexp: Ntkexp, tmp_path: Path, separate: Path
) -> None:
    """A checkpoint is one and the same: the strategy is no part of what a run is."""
    words = [*SWEEP, "seed=2", "optim.lr=0.03", "checkpoint.every_seconds=0"]
    process = subprocess.Popen(
        [sys.executable, "-m", "ntkexp", "train", *words], cwd=tmp_path, stdout=subprocess.DEVNULL
    )
    while process.poll() is None and not any(begun(run) for run in tmp_path.glob("outputs/disk/*")):
        pass
    process.kill()
    process.wait()
    assert ntkexp("train", "-m", *SWEEP, *ENSEMBLE).returncode == 0
    assert_agree(tables(tmp_path), tables(separate))


def test_depths_make_ensembles_of_their_own(ntkexp: Ntkexp, tmp_path: Path) -> None:
    done = ntkexp("train", "-m", *TINY_DISK, "seed=1,2", "model.depth=1,2", *ENSEMBLE)
    assert done.returncode == 0, done.stderr
    lives = [
        json.loads(file.read_text())["lives"][-1]
        for file in tmp_path.glob("outputs/disk/*/provenance.json")
    ]
    assert len({tuple(life["members"]) for life in lives}) == 2


def test_what_one_member_lacks_is_said_before_any_run_begins(
    ntkexp: Ntkexp, tmp_path: Path
) -> None:
    """Known only once the data are there, which is before any folder is made."""
    words = (*TINY_DISK, "probe=[eigenfunctions,spectrum]", "probing.examples=41", "seed=1,2")
    done = ntkexp("train", "-m", *words, *ENSEMBLE)
    assert done.returncode != 0
    assert "probing.examples=41: there are 40 train examples" in done.stdout + done.stderr
    assert list(tmp_path.glob("outputs/disk/*/status.json")) == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((*TINY_DISK, "model.depth=1,2"), "no two of the 2 jobs"),
        (("+exp=resnet18_cifar10", "seed=1,2"), "model.norm=batch"),
    ],
)
def test_what_cannot_be_stacked_is_refused_in_one_line(
    door: Ntkexp, words: tuple[str, ...], told: str
) -> None:
    done = door("train", "-m", *words, "launcher=ensemble")
    assert done.returncode == 2
    assert told in done.stderr
    assert "launcher=local" in done.stderr
    assert len(done.stderr.splitlines()) == 1
