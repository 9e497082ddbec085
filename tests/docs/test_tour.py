"""docs/tour.ipynb runs from its first cell to its last, and shows what comes.

`jupyter execute --inplace tour.ipynb`, on a copy in an empty folder, writes what it shows anew.
"""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import TOP

TOUR = TOP / "docs" / "tour.ipynb"
NUMBER = re.compile(r"\d+\.?\d*")


@pytest.mark.on_demand
@pytest.mark.filterwarnings("ignore")  # Jupyter's own
def test_the_tour_runs_and_gives_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    import nbformat

    monkeypatch.setattr(os, "environ", os.environ.copy())
    os.environ.pop("MPLBACKEND", None)
    # What Jupyter keeps of itself.
    os.environ |= {name: f"{tmp_path}/{name}" for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR")}
    kept, executed = nbformat.read(TOUR, as_version=4), nbformat.read(TOUR, as_version=4)
    nbclient.NotebookClient(executed, timeout=600, kernel_name="python3").execute(cwd=str(tmp_path))
    for before, now in zip(texts(kept), texts(executed), strict=True):
        assert NUMBER.sub("0", before).split() == NUMBER.sub("0", now).split()
        # Other machines round otherwise, and training makes that grow.
        assert numbers(before) == pytest.approx(numbers(now), rel=0.2, abs=0.02)
    _, _, ranks, _ = texts(executed)
    assert ast.literal_eval(ranks)["end"] < ast.literal_eval(ranks)["start"]
    assert list((tmp_path / "outputs" / "disk").iterdir())


def numbers(text: str) -> list[float]:
    return [float(found) for found in NUMBER.findall(text)]


def texts(notebook: Any) -> list[str]:
    """The outputs of the cells as text; a figure is the name of its class."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return ["".join(cell.outputs[-1]["data"]["text/plain"]) for cell in cells]
