"""Of a run of many networks the page shows the first, and says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from ntkexp.report.facts import first_of, which_network
from ntkexp.report.panels import panels
from ntkexp.results.reading import collect
from tests.tiny_runs import TINY, train

WORDS = (*TINY, "data=mnist", "model=mlp", "model.depth=2", "model.width=8", "probe=[alignment]")


@pytest.fixture
def outputs(tmp_path: Path, made_images: None) -> Path:
    train(tmp_path, *WORDS, "optim.steps=4", "optim.lr=0.3", "members={seed: [5, 2]}")
    train(tmp_path, *WORDS, "optim.steps=4", "optim.lr=0.3", "seed=5")
    return tmp_path


def test_the_first_of_many_networks_is_shown_as_a_run_of_its_own(outputs: Path) -> None:
    many, one = sorted(collect([outputs]), key=lambda run: "members" not in run.tables)
    assert which_network(many) == "the first of 2 networks: seed 5"
    assert which_network(one) == ""
    assert first_of(one) is one
    shown = first_of(many)
    assert set(shown.tables["evals"]["seed"]) == {5}
    mine, alone = panels(shown), panels(one)
    assert [panel["title"] for panel in mine] == [panel["title"] for panel in alone]
    for here, there in zip(mine, alone, strict=True):
        for ours, own in zip(here["series"], there["series"], strict=True):
            assert ours["x"] == own["x"]
            assert ours["y"] == pytest.approx(own["y"], rel=2e-3, nan_ok=True)
