"""Every kind of run, cut short and gone on with, on a GPU that is none."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import torch

from ntkexp.data import Split
from ntkexp.training import supervised
from tests.pretended import device
from tests.pretended.cuda import pretended
from tests.tiny_runs import TINY, composed, prepared, train

pytestmark = pytest.mark.usefixtures("made_images")
SHORT = (
    *TINY, "optim.epochs=null", "optim.steps=12", "probing.spacing=list", "probing.steps=[0,2,12]",
)  # fmt: skip
MLP = ("data=mnist", "model=mlp", "model.width=8", "model.depth=2", *SHORT)
CONVOLUTIONS = ("data=cifar10", "model.base=2", *SHORT)
DIGITS = (
    "data=fitted_digits", "data.digits=[2,3]", "model=bias_free_mlp", "model.width=8",
    "objective=squared_error", *SHORT, "data.train_examples=12", "data.test_examples=6",
    "optim.batch_size=4", "probing.examples=4",
)  # fmt: skip
LINEAR = (*MLP, "transform=linearise")
RUNS: dict[str, tuple[str, ...]] = {
    "spectrum": (*MLP, "probe=[spectrum]"),
    "alignment": (*MLP, "probe=[alignment]"),
    "complexity at every step": (*MLP, "probe=[complexity]"),
    "complexity of the minibatch": (
        *MLP, "probe=[complexity]", "probe.complexity.batch=minibatch",
    ),
    "linearity": (*MLP, "probe=[linearity]"),
    "measures": (*MLP, "probe=[measures]"),
    "directions": (
        *MLP, "probe=[directions]", "probe.directions.count=2", "probe.directions.examples=10",
    ),
    "leave one out": (*MLP, "probe=[leave_one_out]"),
    "looks at losses": (*MLP, "probe=[snapshot]", "probing.losses=[2.0,1.5]"),
    "adapted kernel": (
        *DIGITS, "probe=[adapted_kernel]", "probe.adapted_kernel.points=2",
        "probe.adapted_kernel.angles=2", "probe.adapted_kernel.list_examples=true",
    ),
    "relaxed model": (
        *DIGITS, "probe=[relaxed_model]", "probe.relaxed_model.points=2",
        "probe.relaxed_model.iterations=2",
    ),
    "kernel replay of descent": (
        "data=sines", "data.train_examples=12", "model=mlp", "model.width=8", "model.depth=2",
        "objective=squared_error", "probe=[kernel_replay]", "probe.kernel_replay.lr=0.01",
        "probe.kernel_replay.beta1=0", "optim.lr=0.01", "optim.momentum=0", "optim.steps=12",
        "optim.batch_size=null", "optim.stop_loss=null", "progress=false", "device=cpu",
    ),
    "augmentation": (*CONVOLUTIONS, "model=vgg11", "data.augment=crop_flip", "probe=[]"),
    "batch norm": (
        *CONVOLUTIONS, "model=resnet18", "probe=[spectrum]", "optim.steps=3", "probing.steps=[0]",
    ),
    "adam and cosine": (*MLP, "optim=adam", "optim.schedule=cosine", "probe=[]"),
    "full batch": (*MLP, "optim.batch_size=null", "probe=[spectrum]"),
    "alpha": (*MLP, "transform=alpha_scale", "transform.alpha=10", "probe=[spectrum]"),
    "linearised by forward mode": (*LINEAR, "transform.route=forward", "probe=[spectrum]"),
    "linearised in function space": (*LINEAR, "transform.route=function", "probe=[alignment]"),
    "members": (*MLP, "members={seed: [0,1,2]}", "probe=[spectrum,complexity]"),
    "members on the same images": (*MLP, "members={data.noise: [0,.1,.2]}", "probe=[spectrum]"),
    "members by alpha": (
        *MLP, "members={transform.alpha: [1,10]}", "transform=alpha_scale", "probe=[spectrum]",
    ),
    "members of convolutions": (
        *CONVOLUTIONS, "model=vgg11", "members={seed: [0,1]}", "probe=[]",
    ),
    "members in function space": (*LINEAR, "members={data.noise: [0,.1]}", "probe=[spectrum]"),
}  # fmt: skip

SCORES = (
    "study=c_scores", "study.examples=50", "study.nets=20", "study.ratios=[3]", "study.width=8",
    "study.updates=4", "study.batch_size=10", "progress=false",
)  # fmt: skip
STUDIES = {
    "c-scores": SCORES,
    "c-scores with convolutions": (*SCORES, "study.network=cnn", "study.width=2"),
}


# Those that have no path of their own on a device that another kind has not; on demand. Batch norm
# is trained in on_graphs.py.
ALIKE = {
    "alignment", "complexity of the minibatch", "linearity", "measures", "leave one out",
    "relaxed model", "full batch", "alpha", "linearised in function space",
    "members", "members on the same images", "members of convolutions",
    "c-scores with convolutions", "batch norm",
}  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.on_demand] if name in ALIKE else [])
        for name in (*RUNS, *STUDIES)
    ],
)
def test_a_run_goes_on_as_if_it_had_not_been_cut_short(name: str, tmp_path: Path) -> None:
    command, words = ("study", STUDIES[name]) if name in STUDIES else ("train", RUNS[name])
    with pretended():
        whole = train(tmp_path / "whole", *words, command=command)
        train(tmp_path / "cut", *words, stop_at=2, command=command)
        cut = train(tmp_path / "cut", *words, command=command)
    tables = sorted(whole.glob("*.parquet"))
    assert len(tables) >= 2
    for file in tables:
        pd.testing.assert_frame_equal(pd.read_parquet(file), pd.read_parquet(cut / file.name))


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("spectrum", 0.1),
        ("augmentation", 0.1),
        ("linearised in function space", 0.1),
        ("complexity at every step", 1.1),
    ],
)
def test_a_step_waits_for_the_device_so_many_times_at_most(
    name: str, most: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervised, "BURST_SECONDS", 1e9)
    with pretended():
        words = [*RUNS[name], "optim.steps=100", f"paths.outputs={tmp_path}"]
        work = prepared(composed(words)).work
        work.advance(3)
        device.waits.clear()
        work.advance(33)
    assert sum(device.waits.values()) / 30 <= most, device.waits


def test_examples_of_ones_own_may_lie_there() -> None:
    with pretended() as there:
        x, y = torch.zeros(8, 2).to(there), (torch.arange(8) % 2).to(there)
        split = Split.of(x, y, noise=0.5, difficult=2)
        assert {mask.device for mask in split.subsets().values()} == {x.device}
        marked = Split.of(x, y, noise=1.0, difficult=split.difficult)
        assert int((marked.corrupted & marked.difficult).sum()) == 0
