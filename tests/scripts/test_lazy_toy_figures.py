"""Figures of "Lazy vs hasty" that need no photographs, drawn from the results that are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Script

REFERENCE = Path(__file__).parents[2] / "outputs" / "reference" / "lazy"
FIGURES = {
    "fig21_normal_distributions": "normal_distributions",
    "fig51_yin_yang": "yin_yang_maps",
    "figc9_dense_examples": "dense_examples",
    "fig_continuum": "continuum",
}


@pytest.mark.parametrize("stem", FIGURES)
def test_a_figure_is_drawn_from_the_kept_results(stem: str, script: Script, tmp_path: Path) -> None:
    folder = str(REFERENCE / FIGURES[stem])
    assert script(stem)(["--out", str(tmp_path), "--runs", folder]) == 0
    drawn = sorted(path.name for path in tmp_path.iterdir())
    assert drawn == [f"{stem}.{kind}" for kind in ("pdf", "png", "svg")]
    assert all(path.stat().st_size > 5_000 for path in tmp_path.iterdir())
