"""A probe keeps the arrays that it declares, one file a look."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch

from ntkexp.probes import Probe, View
from ntkexp.probes.base import Measured
from ntkexp.results.status import read_status
from ntkexp.results.table import STEP, Array, Table, float64
from tests.tiny_runs import TINY, goes_on, train

pytestmark = pytest.mark.usefixtures("made_images")


@dataclass
class FirstLayer(Probe):
    tables = (Table("norm", "|W|", {"step": STEP, "norm": float64("of all")}),)
    arrays = (Array("first_layer", "the weights of the first layer, (units, inputs)"),)

    misspelt: bool = False

    def measure(self, view: View) -> Measured:
        weights = next(view.network().parameters()).detach().numpy().copy()
        name = "first_leyer" if self.misspelt else "first_layer"
        return {"norm": {"norm": float(np.linalg.norm(weights))}, name: weights}


WORDS = (
    *TINY, "data=mnist", "model=mlp", "model.depth=1", "model.width=4", "optim.steps=6",
    f"probe=[{__name__}.FirstLayer]", "probing.spacing=linear", "probing.every=2",
)  # fmt: skip


def test_an_array_is_a_file_a_look_and_among_the_runs_files(tmp_path: Path) -> None:
    run = train(tmp_path, *WORDS)
    names = [f"first_layer.{step}.npy" for step in (0, 2, 4, 6)]
    assert sorted(file.name for file in run.glob("*.npy")) == names
    status = read_status(run)
    assert status is not None and {*names} <= status["files"].keys()
    last = torch.load(run / "weights.pt")["hidden1.weight"]
    np.testing.assert_array_equal(np.load(run / names[-1]), last)


@pytest.mark.parametrize("stop", [3, 4])
def test_a_run_that_was_cut_short_has_the_same_arrays(stop: int, tmp_path: Path) -> None:
    assert [*goes_on(tmp_path, *WORDS, stop_at=stop).glob("*.npy")]


def test_members_have_one_each(tmp_path: Path) -> None:
    run = train(tmp_path, *WORDS, "members={seed: [1, 2]}")
    alone = train(tmp_path, *WORDS, "seed=2")
    np.testing.assert_allclose(
        np.load(run / "1.first_layer.6.npy"), np.load(alone / "first_layer.6.npy"), rtol=1e-3
    )
    assert len([*run.glob("*.npy")]) == 8


def test_one_that_is_not_declared_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="first_leyer is not among its arrays"):
        train(tmp_path, *WORDS, "probe.first_layer.misspelt=true")
