"""The figures of the adaptive paper, drawn from the results that the repository keeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Script

REFERENCE = Path(__file__).parents[2] / "outputs" / "reference" / "adaptive"
FIGURES = {
    "fig01_label_kernel": ("label_kernel",),
    "fig02_penalties": ("penalties",),
    "fig03_difficult_points": ("label_kernel",),
    "fig_alignment": ("mlp_mnist", "vgg19"),
    "fig_layers": ("label_kernel",),
    "fig_relaxed": ("relaxed", "relaxed_large"),
    "fig_targets": ("targets",),
    "fig_low_rank": ("low_rank",),
    "fig_readings": ("robustness", "full_batch", "unit_variance", "ntk_unit_variance"),
}


@pytest.mark.parametrize("stem", FIGURES)
def test_a_figure_is_drawn_from_the_kept_results(stem: str, script: Script, tmp_path: Path) -> None:
    folders = [str(REFERENCE / name) for name in FIGURES[stem]]
    assert script(stem)(["--out", str(tmp_path), "--runs", *folders]) == 0
    drawn = sorted(path.name for path in tmp_path.iterdir())
    assert drawn == [f"{stem}.{kind}" for kind in ("pdf", "png", "svg")]
    assert all(path.stat().st_size > 5_000 for path in tmp_path.iterdir())
