"""Figure 4.2: gradients are hardly correlated in the Kronecker-factored eigenbasis, and EKFAC
drifts less than KFAC between two computations of it.

A classifier of four sigmoid layers of 100 units on MNIST, trained by EKFAC. a and b, |correlation|
over 2,000 images of the gradients by 250 parameters of the second layer, evenly spaced over it, and
of as many of their coordinates in the basis, at the end of training. c, the error
|F - approximation| / |F| (Frobenius's norm, all layers) on these images: factors and basis are
computed every 100 updates; KFAC keeps its scale until then, EKFAC takes the second moments of now.
Dashed: KFAC times the number that makes its error least. Means of three seeds, least and most.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.papers.curvature.claims.drift import whole_errors
from ntkexp.scripts import drawing, runs

FIGURE = "4.2"
LINES = {
    "kfac": ("KFAC", drawing.VERMILION, "-"),
    "kfac_scaled": ("KFAC, best scalar", drawing.VERMILION, "--"),
    "ekfac": ("EKFAC", drawing.BLUE, "-"),
}


def make(options: drawing.Options) -> Figure:
    tables = ["fisher_drift", "fisher_correlations"]
    records = runs.needed(options.experiment, options.runs, tables)
    figure, axes = drawing.subplots(1, 3, figsize=(drawing.PAGE, 2.3), width_ratios=[1, 1, 1.6])
    lowest = min(records, key=lambda record: record.seed).tables["fisher_correlations"]
    for panel, column in zip(axes, ("parameters", "basis"), strict=False):
        image = panel.imshow(square(lowest, column), vmin=0, vmax=1)
        panel.set(xticks=[], yticks=[], xlabel=column)
    figure.colorbar(image, ax=axes[:2], label="|correlation|", location="left")
    _errors(axes[2], [whole_errors(record.tables["fisher_drift"]) for record in records])
    drawing.letter_panels(tuple(axes))
    return figure


def square(correlations: pd.DataFrame, column: str) -> np.ndarray:
    """(m, m), with ones on the diagonal."""
    size = int(correlations["second"].max()) + 1
    matrix = np.eye(size)
    first, second = correlations["first"].to_numpy(), correlations["second"].to_numpy()
    matrix[first, second] = matrix[second, first] = correlations[column]
    return matrix


def _errors(axes: Axes, of_seeds: list[pd.DataFrame]) -> None:
    steps = of_seeds[0].index.get_level_values("step").to_numpy()
    for column, (label, colour, style) in LINES.items():
        values = np.array([errors[column] for errors in of_seeds])
        drawing.mean_and_band(axes, steps, values, colour=colour, label=label, linestyle=style)
    axes.set(xlabel="update", ylabel="|F - approximation| / |F|", ylim=(0, None))
    axes.legend()


main = drawing.main(__file__, __doc__, "curvature/drift", make, __name__)
