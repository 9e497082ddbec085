"""docs/tour.ipynb runs from its first cell to its last, and shows what comes."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path

import pytest

from ntkexp.scripts.tools.pages import tour

NUMBER = re.compile(r"\d+\.?\d*")


@pytest.mark.on_demand
@pytest.mark.filterwarnings("ignore")  # Jupyter's own
def test_the_tour_runs_and_gives_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    import nbformat

    monkeypatch.setattr(os, "environ", os.environ.copy())
    kept, executed = nbformat.read(tour.TOUR, as_version=4), nbformat.read(tour.TOUR, as_version=4)
    tour.execute(executed, tmp_path)
    for before, now in zip(tour.texts(kept), tour.texts(executed), strict=True):
        assert NUMBER.sub("0", before).split() == NUMBER.sub("0", now).split()
        # Other machines round otherwise, and training makes that grow.
        assert numbers(before) == pytest.approx(numbers(now), rel=0.2, abs=0.02)
    _, _, ranks, _ = tour.texts(executed)
    assert ast.literal_eval(ranks)["end"] < ast.literal_eval(ranks)["start"]
    assert list((tmp_path / "outputs" / "disk").iterdir())


def numbers(text: str) -> list[float]:
    return [float(found) for found in NUMBER.findall(text)]
