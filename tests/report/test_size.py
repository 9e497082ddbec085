"""The page with every figure of the reference results can be sent and opened."""

from __future__ import annotations

from pathlib import Path

import pytest

from ntkexp.cli import main

# Of five works it has 11.0 MB: 6.2 are figures, 2.0 the script that draws its plots, 1.9 runs.
MOST_BYTES = 12_000_000


@pytest.mark.on_demand
def test_the_report_of_all_reference_results_is_under_12_mb(
    every_figure: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("plotly")
    monkeypatch.delenv("NTKEXP_REFERENCE")
    monkeypatch.chdir(every_figure)
    assert main(["report"]) == 0
    page = every_figure / "outputs" / "report" / "index.html"
    # Each figure is a drawing of its own that the page carries.
    assert page.read_text(encoding="utf-8").count('class="sheet"') > 30
    assert page.stat().st_size < MOST_BYTES
