"""Ours: where the memorisation of wrong labels begins, and how linear training is, over alpha.

MLPs of three hidden layers on 2,000 digits of MNIST, 15 % of whose labels are wrong; means of three
seeds. a, onset of memorisation: the clean loss at the peak of the loss of the wrong labels; a white
field is one in which a seed had not begun to memorise after 20,000 updates. b, alignment of the
tangent kernel with that of the start (lines) and the share of ReLUs that are as at the start
(dashes), both on test digits at a clean loss of 1. c, one against the other: every point is an
alpha and a width, and alpha rises along a line from left to right.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.papers.lazy.claims.continuum import CLEAN_LOSS, means
from ntkexp.scripts import drawing, runs

FIGURE = "ours"


def make(options: drawing.Options) -> Figure:
    records = runs.needed(options.experiment, options.runs, ["evals", "linearity"])
    onset, kernel, relus = (means(records, column) for column in ("onset", "kernel", "relus"))
    figure, axes = drawing.subplots(1, 3, figsize=(drawing.PAGE, 2.6), width_ratios=[1.5, 1, 1])
    _map(figure, axes[0], onset)
    shades = dict(zip(kernel.index, drawing.shades(len(kernel)), strict=True))
    for width, row in kernel.iterrows():
        colour = shades[width]
        axes[1].plot(row.index, row, color=colour, marker="o", markersize=2, label=str(width))
        axes[1].plot(row.index, relus.loc[width], "--", color=colour, linewidth=0.8)
        axes[2].plot(row, onset.loc[width], color=colour, marker="o", markersize=2)
    axes[1].set(xscale="log", xlabel="α", ylabel=f"linearity at clean loss {CLEAN_LOSS:g}")
    axes[2].set(xlabel="alignment of the kernel", ylabel="onset (clean loss)")
    handles, labels = axes[1].get_legend_handles_labels()
    widths = [f"width {label}" for label in labels]
    figure.legend(handles, widths, loc="outside lower right", ncols=len(widths))
    drawing.letter_panels(tuple(axes))
    return figure


def _map(figure: Figure, axes: Axes, onset: pd.DataFrame) -> None:
    values = onset.to_numpy(dtype=float)
    image = axes.imshow(values, origin="lower", aspect="auto", cmap="viridis")
    middle = (np.nanmin(values) + np.nanmax(values)) / 2
    for (row, column), value in np.ndenumerate(values):
        if np.isfinite(value):
            colour = "white" if value < middle else "black"
            axes.text(
                column, row, f"{value:.2f}", ha="center", va="center", color=colour, fontsize=6
            )
    axes.set_xticks(range(onset.shape[1]), [f"{alpha:g}" for alpha in onset.columns])
    axes.set_yticks(range(onset.shape[0]), [str(width) for width in onset.index])
    axes.set(xlabel="α", ylabel="width")
    figure.colorbar(image, ax=axes, label="onset (clean loss)")


main = drawing.main(__file__, __doc__, "lazy/continuum", make, __name__)
