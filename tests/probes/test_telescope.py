"""The first-order changes of all updates add up to the function, but for a second order."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import torch
from torch.func import functional_call, jacrev
from torch.nn import functional

from ntkexp.errors import UserError
from ntkexp.execution.prepare import prepare
from ntkexp.training.supervised import Supervised
from tests.tiny_runs import TINY, composed, goes_on, train

pytestmark = pytest.mark.usefixtures("made_images")

WORDS = (*TINY, "data=mnist", "model=mlp", "model.depth=2", "model.width=12", "probe=[telescope]")
WORDS += ("model.init=default",)


def measured(tmp_path: Path, *words: str) -> pd.DataFrame:
    return pd.read_parquet(train(tmp_path, *WORDS, *words) / "telescope.parquet")


@pytest.mark.parametrize("optim", ["sgd", "adam"])
def test_nothing_is_left_over_of_a_linearised_network(optim: str, tmp_path: Path) -> None:
    words = ("transform=linearise", f"optim={optim}", "optim.steps=20", "optim.lr=0.01")
    last = measured(tmp_path, *words).iloc[-1]
    assert last["moved"] > 0.1
    assert last["remainder"] < 1e-5 * last["moved"]
    assert last["first_order"] == pytest.approx(last["moved"], rel=1e-5)


def test_the_sum_is_that_of_a_loop_in_double_precision(tmp_path: Path) -> None:
    """The remainder need not vanish with the rate: a flow may slide along the kink of a ReLU."""
    words = ("optim.lr=0.05", "optim.steps=20", "optim.momentum=0")
    last = measured(tmp_path, *words).query("split == 'test'").iloc[-1]
    work = prepare(composed([*WORDS, *words])).work
    assert isinstance(work, Supervised)
    network = work.model.double()
    weights = dict(network.named_parameters())
    inputs = work.prepared.batches["test"].inputs.double()
    start = network(inputs).detach()
    added = torch.zeros_like(start)
    for step in range(20):
        x, y = work.minibatch(step)
        loss = functional.cross_entropy(network(x.double()), y)
        gradients = torch.autograd.grad(loss, list(weights.values()))
        moves = [-0.05 * gradient for gradient in gradients]
        jacobian = jacrev(lambda w: functional_call(network, w, (inputs,)))(weights)
        for name, move in zip(weights, moves, strict=True):
            added += (jacobian[name].flatten(2) @ move.flatten()).detach()
        with torch.no_grad():
            for w, move in zip(weights.values(), moves, strict=True):
                w += move
    moved = network(inputs).detach() - start
    for name, part in (("moved", moved), ("first_order", added), ("remainder", moved - added)):
        assert last[name] == pytest.approx(part.square().mean().sqrt().item(), rel=1e-3)


def test_the_scaled_function_has_a_telescope_of_its_own(tmp_path: Path) -> None:
    scaled = ("transform=alpha_scale", "transform.alpha=300", "optim.lr=0.02", "optim.steps=20")
    last = measured(tmp_path, *scaled).iloc[-1]
    assert last["moved"] > 0.1
    assert last["remainder"] < 0.05 * last["moved"]
    assert last["first_order"] == pytest.approx(last["moved"], rel=0.05)


def test_it_goes_on_from_where_it_was_cut_short(tmp_path: Path) -> None:
    goes_on(tmp_path, *WORDS, "optim.steps=15", 'members={seed: "range(2)"}', stop_at=6)


def test_in_function_space_no_weight_is_seen(tmp_path: Path) -> None:
    words = [*WORDS, "transform=linearise", "optim.steps=100000"]
    ready = prepare(composed(words))
    assert "probe.telescope looks at changes" in str(ready.about["route"])
    with pytest.raises(UserError, match=r"transform.route=function: probe\.telescope"):
        train(tmp_path, *words, "transform.route=function")


def test_it_must_see_the_start(tmp_path: Path) -> None:
    words = ("probing.spacing=list", "probing.steps=[3]", "optim.steps=5")
    with pytest.raises(UserError, match=r"probing\.steps=\[3\]: probe\.telescope"):
        train(tmp_path, *WORDS, *words)
