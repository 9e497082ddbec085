"""Training on the gradients of all examples is training of the linearised network."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ntkexp.errors import UserError
from ntkexp.training.factors.learner import FactorLearner
from tests.tiny_runs import TINY, assert_agree, goes_on, table, train
from tests.training.function_space.test_function_space import as_by_forward_mode

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
    ours, truth = as_by_forward_mode(CASES[case], "factors")
    assert isinstance(ours.learner, FactorLearner) and ours.step == 100
    # The module of the run is up to date as well, which probes see.
    inputs = ours.dataset.test.inputs[:7]
    torch.testing.assert_close(ours.model(inputs), truth.model(inputs), rtol=1e-8, atol=1e-9)


RUN = (
    *TINY,
    *("data=cifar2", "model=mlp", "model.depth=2", "model.width=8", "optim.lr=0.01"),
    *("transform=linearise", "transform.route=factors", "optim.steps=25", "probe=[]"),
)


def test_members_are_what_each_is_alone(tmp_path: Path) -> None:
    together = train(tmp_path / "all", *RUN, "members={optim.momentum: [0.0, 0.5, 0.9]}")
    for momentum in (0.0, 0.5, 0.9):
        alone = train(tmp_path / f"{momentum}", *RUN, f"optim.momentum={momentum}")
        for name in ("steps", "evals"):
            of_all = table(together, name)
            own = of_all[of_all["optim.momentum"] == momentum].drop(columns="optim.momentum")
            assert_agree(own, table(alone, name), 1e-4, 1e-6)


def test_a_run_that_is_interrupted_ends_as_one_that_is_not(tmp_path: Path) -> None:
    goes_on(tmp_path / "alone", *RUN, stop_at=11)
    goes_on(tmp_path / "members", *RUN, "members={optim.momentum: [0.5, 0.9]}", stop_at=11)


def test_members_that_begin_elsewhere_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="all begin with the same weights"):
        train(tmp_path, *RUN, "members={seed: [0, 1]}")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("data=mnist", "objective=usual"), "kept of one output, and there are 10"),
        (("data=cifar10", "data.augment=crop_flip"), "new examples|one output"),
        (("optim=torch", "optim.of=AdamW"), "optim=torch: updates no stack of weights"),
    ],
)
def test_what_has_no_such_gradients_is_refused(
    tmp_path: Path, words: tuple[str, ...], why: str
) -> None:
    with pytest.raises(UserError, match=why):
        train(tmp_path, *RUN, *words)
