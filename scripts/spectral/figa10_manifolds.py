"""Figure A.10: random targets on reconstructions of digits and on flat points.

Mean squared error; once points are fitted it jumps. Grey: iterations 500 and 1,000, at which the
ledger compares. Flat noise as printed: 64 uniform numbers and zeros. Dashed, ours: points of the
one kind at the mean distance of the other, and digits in 64 principal components.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from ntkexp.scripts import drawing
from ntkexp.scripts.spectral.heatmap import squared_error

FIGURE = "A.10"
JUDGED = (500, 1000)
POINTS = {
    "reconstructions": (drawing.BLUE, "-", "reconstructions"),
    "noise": (drawing.GREEN, "-", "flat noise"),
    "scaled_reconstructions": (drawing.BLUE, "--", "reconstructions, as far apart as noise"),
    "scaled_noise": (drawing.GREEN, "--", "flat noise, as far apart as reconstructions"),
    "components": (drawing.VERMILION, "--", "digits in 64 principal components"),
}


def draw(evals: pd.DataFrame) -> Figure:
    figure, axes = drawing.subplots(figsize=(drawing.PAGE, 3))
    for points, (colour, style, label) in POINTS.items():
        rows = evals[(evals["data.points"] == points) & (evals["step"] <= JUDGED[-1])]
        squared_error(axes, rows, colour=colour, label=label, linestyle=style)
    for step in JUDGED:
        axes.axvline(step, color="0.7", linewidth=0.8, zorder=0)
    axes.set_ylabel("mean squared error")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.legend()
    seeds = evals["seed"].nunique()
    drawing.note(figure, [f"{seeds} networks: {drawing.band_label(seeds)}"])
    return figure


main = drawing.main(
    __file__, __doc__, "spectral/manifolds", drawing.of_one_run(("evals",), draw), __name__
)
