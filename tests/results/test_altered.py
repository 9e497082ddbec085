"""A run is altered by the values that were typed, not by the words."""

from __future__ import annotations

from pathlib import Path

import pytest

from ntkexp.compose.composition import compose
from ntkexp.compose.finalise import finalise
from ntkexp.compose.overrides import typed_keys
from ntkexp.results.reading import collect
from tests.conftest import TINY_DISK, Ntkexp


def test_a_typed_value_that_is_the_experiments_own_alters_nothing(
    inside: Ntkexp, tmp_path: Path
) -> None:
    own = ("model.init=default", "model=mlp", "optim.stop_loss=null", "model.width=256")
    small = [word for word in TINY_DISK if not word.startswith("model.")]
    words = [*small, *own, "optim.steps=2", "-m", "optim.lr=0.01,0.02"]
    done = inside("train", *words)
    assert done.returncode == 0, done.stderr
    altered = {run.config["optim.lr"]: run.altered for run in collect([tmp_path / "outputs"])}
    sizes = {"data.train_examples", "data.grid", "probe.eigenfunctions.count"}
    assert {word.partition("=")[0] for word in altered[0.01]} == sizes
    assert {word.partition("=")[0] for word in altered[0.02]} == {*sizes, "optim.lr"}


@pytest.mark.usefixtures("made_images")
def test_another_component_of_a_study_alters_it() -> None:
    words = ["+exp=curvature/search", "optim@study.optim=sgd", "study.dampings=[]"]
    plan = finalise(compose("study", words), frozenset(typed_keys(words)))
    assert plan.typed == {"study.optim", "study.dampings"}
