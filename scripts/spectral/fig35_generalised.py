"""Figure 3.5: the generalised spectrum of networks that fit digits with high-frequency noise.

Root mean square coefficient along 20 neighbouring eigenvectors of a Gaussian kernel on the training
images, mean over networks: of the noised targets, of the true ones (dotted), and of the network
along training. It is nearest to the true targets at iteration 100, and covers the noised ones in
the end. A panel for each sigma over the median distance of the images.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.results.record import Record
from ntkexp.scripts import drawing, runs

FIGURE = "3.5"
LOOKS = (60, 100, 140, 200, 1500)


def of_widths(table: str, draw: Callable[[Axes, Record], None], ylabel: str) -> drawing.Make:
    """A panel a run, by sigma."""

    def make(options: drawing.Options) -> Figure:
        records = runs.needed(options.experiment, options.runs, [table])
        size = (drawing.PAGE, 2.5)
        figure, row = drawing.subplots(1, len(records), figsize=size, sharey=True, squeeze=False)
        for axes, record in zip(row.flat, sorted(records, key=lambda run: run.axis), strict=True):
            draw(axes, record)
            axes.set_title(rf"$\sigma$ / median distance: {record.axis:g}")
        row[0][0].set_ylabel(ylabel)
        drawing.legend_above(figure, *row[0][-1].get_legend_handles_labels())
        seeds = records[0].tables[table]["seed"].nunique()
        drawing.note(figure, [f"{seeds} networks a panel"])
        return figure

    return make


def spectrum(axes: Axes, record: Record) -> None:
    table = record.tables["kernel_spectrum"]
    n = np.sort(table["n"].unique())
    start = table[table["step"] == 0]
    above = {"linestyle": ":", "zorder": 3}
    axes.plot(n, root(start, "target"), color=drawing.BLACK, label="noised target", **above)
    axes.plot(n, root(start, "clean"), color=drawing.VERMILION, label="true target", **above)
    steps = table["step"].unique()
    looks = sorted({int(steps[np.abs(steps - step).argmin()]) for step in LOOKS})
    for step, colour in zip(looks, drawing.shades(len(looks)), strict=True):
        values = root(table[table["step"] == step], "network")
        axes.plot(n, values, color=colour, linewidth=0.8, label=f"after {step:,}")
    axes.set(xlabel="$n$", yscale="log")


def root(table: pd.DataFrame, column: str) -> pd.Series:
    """By n, the root mean square of single coefficients."""
    energy = table.groupby("n")[column].mean()
    size = np.diff(energy.index, prepend=0)
    return np.sqrt(energy * energy.index.max() / size)


main = drawing.main(
    *(__file__, __doc__, "spectral/kernel_noise"),
    of_widths("kernel_spectrum", spectrum, r"$|\tilde f[n]|$"),
    __name__,
)
