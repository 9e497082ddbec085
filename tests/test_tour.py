"""docs/tour.ipynb runs from its first cell to its last, and ends in a figure."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest

TOUR = Path(__file__).parents[1] / "docs" / "tour.ipynb"


@pytest.mark.filterwarnings("ignore")  # Jupyter's own
def test_the_tour_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    import nbformat

    # What the tests' own notebook kernels leave of themselves lies here.
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.delitem(os.environ, "MPLBACKEND", raising=False)
    notebook = nbformat.read(TOUR, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs for cell in code), "kept without outputs"
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute(cwd=str(tmp_path))
    accuracies, _, ranks, figure = (cell.outputs[-1]["data"] for cell in code)
    assert "accuracy" in accuracies["text/plain"]
    ranks_found = ast.literal_eval(ranks["text/plain"])
    assert ranks_found["end"] < ranks_found["start"]
    assert figure["image/png"]
    assert list((tmp_path / "outputs" / "disk").iterdir())
