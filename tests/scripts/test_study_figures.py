"""Figures of studies say on the image what a reader of the image alone must know."""

from __future__ import annotations

import importlib
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from matplotlib.figure import Figure

from ntkexp.results.reading import collect
from ntkexp.scripts.alignment import fig09_feature_scaling

REFERENCE = Path(__file__).parents[2] / "outputs" / "reference"
# Script, experiment, and words that its note has.
FIGURES = [
    ("fig05_supernat", "supernat", ("50 regressions", "10th to 90th centile", "mean squared")),
    ("fig08_fourier_modes", "fourier_modes", ("5 seeds", "centred by class")),
    ("fig_linear_modes", "linear_modes", ("20 modes",)),
    ("fig_local_bias", "local_bias", ("3 networks",)),
    ("fig_rademacher_bounds", "rademacher", ("20 draws", "10th to 90th centile")),
]


def note(figure: Figure) -> str:
    plt.close(figure)
    return figure.get_supxlabel().replace("\n", " ")


@pytest.mark.parametrize(("script", "experiment", "words"), FIGURES)
def test_seeds_and_bands_stand_below_the_panels(
    script: str, experiment: str, words: tuple[str, ...]
) -> None:
    drawing = importlib.import_module(f"ntkexp.scripts.alignment.{script}")
    (record,) = [one for one in collect([REFERENCE / experiment]) if one.scale == "paper"]
    text = note(drawing.draw(*(record.tables[name] for name in drawing.TABLES)))
    for word in words:
        assert word in text


def test_each_scatter_of_figure_9_has_its_own_scale_and_the_curves_share_one() -> None:
    records = collect([REFERENCE / "feature_scaling"])
    records.sort(key=lambda record: record.axis)
    figure = fig09_feature_scaling.draw(records)
    scatters, curves = figure.axes[: len(records)], figure.axes[len(records) :]
    assert len({axes.get_ylim() for axes in scatters}) == len(records)
    assert len({axes.get_ylim() for axes in curves}) == 1
    for axes, record in zip(scatters, records, strict=True):
        assert f"a = {record.axis:g}$: ratio" in axes.get_title()
    assert "100 subsamples" in note(figure)
