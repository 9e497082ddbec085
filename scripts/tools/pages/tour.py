"""Runs docs/tour.ipynb and keeps what its cells give, for those who read it without running it.

    python -m scripts.tools.pages.tour        half a minute; needs nbclient and ipykernel

It runs in a folder of its own. Where the numbers come out as they were kept, the file stays.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

TOUR = Path(__file__).parents[3] / "docs" / "tour.ipynb"
# The kinds of a cell's output that a page shows.
SHOWN = ("text/plain", "image/png")


def main() -> None:
    import nbformat

    kept, executed = nbformat.read(TOUR, as_version=4), nbformat.read(TOUR, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        execute(executed, Path(folder))
    if all(cell.outputs for cell in code(kept)) and texts(kept) == texts(executed):
        return
    for cell in code(executed):
        cell.metadata = {}
        cell.outputs = [shown(cell.outputs[-1])]
    nbformat.write(executed, TOUR)


def execute(notebook: Any, folder: Path) -> None:
    """Run all cells there; what Jupyter keeps of itself lies there, too."""
    import nbclient

    os.environ.pop("MPLBACKEND", None)
    os.environ |= {"IPYTHONDIR": f"{folder}/ipython", "JUPYTER_RUNTIME_DIR": f"{folder}/runtime"}
    client = nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3")
    client.execute(cwd=str(folder))


def code(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def texts(notebook: Any) -> list[str]:
    """The outputs of the cells as text; a figure is the name of its class."""
    return ["".join(cell.outputs[-1]["data"]["text/plain"]) for cell in code(notebook)]


def shown(output: Any) -> Any:
    output["data"] = {kind: output["data"][kind] for kind in SHOWN if kind in output["data"]}
    if "execution_count" in output:
        output["execution_count"] = None
    return output


if __name__ == "__main__":
    main()
