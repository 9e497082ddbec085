"""A longer run goes on from a shorter one, bit for bit, where nothing depends on the horizon."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
import torch

from tests.conftest import Ntkexp

QUICK = (
    "train", "+exp=disk", "model.width=6", "data.grid=6", "data.train_examples=30",
    "probing.examples=10", "probe=[spectrum,eigenfunctions,complexity]", "keep.weights=[4]",
    "probe.eigenfunctions.count=2", "optim.batch_size=8", "optim.stop_loss=null",
)  # fmt: skip


def only(folder: Path) -> Path:
    (run,) = (path for path in (folder / "outputs" / "disk").iterdir())
    return run


@pytest.mark.parametrize("more", [(), ("optim=adam", "probing.spacing=linear", "probing.every=7")])
def test_the_outcome_is_that_of_the_direct_run(
    more: tuple[str, ...], inside: Ntkexp, tmp_path: Path
) -> None:
    direct = "paths.outputs=direct"
    assert inside(*QUICK, *more, "optim.steps=21", direct).returncode == 0
    assert inside(*QUICK, *more, "optim.steps=9", "keep.work=true").returncode == 0
    short = only(tmp_path)
    told = inside(*QUICK, *more, "optim.steps=21").stdout
    assert f"goes on from {short.relative_to(tmp_path)} at step 9" in told
    (alone,) = (tmp_path / "direct" / "disk").iterdir()
    longer = short.parent / alone.name
    files = json.loads((alone / "status.json").read_text())["files"]
    assert files.keys() == json.loads((longer / "status.json").read_text())["files"].keys()
    for name in files:
        if name.endswith(".parquet"):
            pd.testing.assert_frame_equal(
                pd.read_parquet(longer / name), pd.read_parquet(alone / name), check_exact=True
            )
    ours, theirs = (torch.load(run / "weights.pt") for run in (longer, alone))
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    assert (longer / "weights.4.pt").read_bytes() == (alone / "weights.4.pt").read_bytes()


def test_where_updates_depend_on_the_horizon_it_begins_anew_and_says_so(
    inside: Ntkexp, tmp_path: Path
) -> None:
    cosine = (*QUICK, "optim.schedule=cosine")
    inside(*cosine, "optim.steps=9", "keep.work=true")
    told = inside(*cosine, "optim.steps=12").stdout
    assert "begins anew, and not from outputs/disk/" in told
    assert "optim.schedule=cosine may depend on the horizon" in told
    inside(*QUICK, "optim.steps=9")
    assert "goes on" not in inside(*QUICK, "optim.steps=12").stdout  # its work was not kept
    inside(*QUICK, "optim.steps=9", "keep.work=true", "--rerun")
    assert "goes on" not in inside(*QUICK, "optim.steps=12", "optim.lr=0.3").stdout
    assert "goes on" not in inside(*QUICK, "optim.steps=7").stdout


def test_damage_to_the_shorter_run_is_no_matter_of_the_longer_one(
    inside: Ntkexp, tmp_path: Path
) -> None:
    inside(*QUICK, "optim.steps=4", "keep.work=true")
    (only(tmp_path) / "work.pt").write_bytes(b"rot")
    done = inside(*QUICK, "optim.steps=5")
    assert done.returncode == 0, done.stderr
    assert "goes on" not in done.stdout
