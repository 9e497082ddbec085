"""Training on the gradients of all examples is training of the linearised network."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from ntkexp.errors import UserError
from ntkexp.training.factors.learner import FactorLearner
from tests.tiny_runs import TINY, train
from tests.training.function_space.test_function_space import advanced

pytestmark = pytest.mark.usefixtures("made_images")

DISK = (
    *("data=disk", "model=mlp", "model.depth=3", "model.width=20", "optim.lr=0.1"),
    *("data.grid=6", "optim.batch_size=25", "optim.steps=100"),
)
IMAGES = ("data=cifar2", "optim.lr=0.01", "optim.steps=100", "optim.batch_size=13")
CASES = {
    "multilayer perceptron": DISK,
    "from zero": (*DISK, "transform.offset=none"),
    "falling rate, no smaller batch": (*DISK, "optim.schedule=linear", "optim.drop_last=true"),
    "weight decay": (*DISK, "optim.weight_decay=0.01"),
    "adam": (*DISK, "optim=adam", "optim.lr=0.001"),
    "full batch": (*DISK, "optim.batch_size=null"),
    "convolutions": (*IMAGES, "model=cnn", "model.base=2"),
    "without biases": (*IMAGES, "model=bias_free_mlp", "model.init=default"),
}


@pytest.mark.parametrize("case", CASES)
def test_forward_mode_trains_the_same(case: str) -> None:
    """After 100 steps in float64, whatever the optimiser."""
    truth, expected = advanced(CASES[case], "network")
    ours, losses = advanced(CASES[case], "factors")
    assert isinstance(ours.learner, FactorLearner) and len(losses) == 100
    np.testing.assert_allclose(losses, expected, rtol=1e-9)
    assert abs(expected[-1] - expected[0]) > 1e-3
    for split in ("train", "test"):
        here, there = truth.learner.evaluate(split), ours.learner.evaluate(split)
        np.testing.assert_allclose(here["all"], there["all"], rtol=1e-9)
    theirs = truth.learner.weights()
    for name, weight in ours.learner.weights().items():
        torch.testing.assert_close(weight, theirs[name], rtol=1e-8, atol=1e-10)
    # The module of the run is up to date as well, which probes see.
    inputs = ours.dataset.test.inputs[:7]
    torch.testing.assert_close(ours.model(inputs), truth.model(inputs), rtol=1e-8, atol=1e-9)


RUN = (
    *TINY,
    *("data=cifar2", "model=mlp", "model.depth=2", "model.width=8", "optim.lr=0.01"),
    *("transform=linearise", "transform.route=factors", "optim.steps=25", "probe=[]"),
)


def table(run: Path, name: str) -> pd.DataFrame:
    return pd.read_parquet(run / f"{name}.parquet")


def test_members_are_what_each_is_alone(tmp_path: Path) -> None:
    together = train(tmp_path / "all", *RUN, "members={optim.momentum: [0.0, 0.5, 0.9]}")
    for momentum in (0.0, 0.5, 0.9):
        alone = train(tmp_path / f"{momentum}", *RUN, f"optim.momentum={momentum}")
        for name in ("steps", "evals"):
            of_all = table(together, name)
            own = of_all[of_all["optim.momentum"] == momentum].drop(columns="optim.momentum")
            single = table(alone, name)
            pd.testing.assert_frame_equal(own.reset_index(drop=True), single, rtol=1e-4, atol=1e-6)


def test_a_run_that_is_interrupted_ends_as_one_that_is_not(tmp_path: Path) -> None:
    for members in ((), ("members={optim.momentum: [0.5, 0.9]}",)):
        whole = train(tmp_path / f"whole{len(members)}", *RUN, *members)
        folder = tmp_path / f"cut{len(members)}"
        train(folder, *RUN, *members, stop_at=11)
        resumed = train(folder, *RUN, *members)
        for file in (*whole.glob("*.parquet"), whole / "weights.pt"):
            assert file.read_bytes() == (resumed / file.name).read_bytes(), file.name


def test_members_that_begin_elsewhere_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="all begin with the same weights"):
        train(tmp_path, *RUN, "members={seed: [0, 1]}")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("data=mnist", "objective=usual"), "kept of one output, and there are 10"),
        (("data=cifar10", "data.augment=crop_flip"), "new examples|one output"),
    ],
)
def test_what_has_no_such_gradients_is_refused(
    tmp_path: Path, words: tuple[str, ...], why: str
) -> None:
    with pytest.raises(UserError, match=why):
        train(tmp_path, *RUN, *words)
