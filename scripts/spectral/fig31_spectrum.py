"""Figure 3.1: the spectrum of networks that fit ten sines, and the norms of their layers.

A row for equal amplitudes, a row for amplitudes of 0.1 to 1, where there are runs. Left the mean
over networks of |f_k| / A_k, clipped to [0, 1]. Right the spectral norm of each layer by 10 power
iterations, mean over networks. Dotted, on the right-hand axis: log of their product for ten sines
(black) and for one sine alone (grey).
"""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.papers.spectral.numbers import log_product
from ntkexp.scripts import drawing, runs
from ntkexp.scripts.spectral.heatmap import THOUSANDS, spectrum

FIGURE = "3.1"
SETTINGS = {"spectral/equal": "$A_i = 1$", "spectral/increasing": "$A_i = 0.1, ..., 1$"}
CONTROL = "spectral/one_sine"
TABLES = ("fourier", "spectral_norms")


def make(options: drawing.Options) -> Figure:
    names = [name for name in options.experiments if name != CONTROL]
    records = runs.chosen_of(names, options.runs, TABLES)
    control = runs.chosen(CONTROL, options.runs, TABLES)
    size = (drawing.PAGE, 2.6 * len(records))
    figure, rows = drawing.subplots(len(records), 2, figsize=size, squeeze=False)
    for (left, right), record in zip(rows, records, strict=True):
        image = spectrum(left, record.tables["fourier"])
        figure.colorbar(image, ax=left, label=r"$|\tilde f_k| / A_k$")
        left.set_title(SETTINGS.get(record.experiment, record.experiment))
        norms = record.tables["spectral_norms"]
        layers(right, norms)
        beside = right.twinx()
        for run, colour in [(record, drawing.BLACK), *((run, "0.6") for run in control)]:
            product(beside, run.tables["spectral_norms"], colour)
        beside.set_ylabel(r"$\log \prod |W_k|$ (dotted)")
        beside.spines.right.set_visible(True)
    rows[0][1].legend(fontsize=6, ncols=2, loc="upper right", bbox_to_anchor=(1, 0.93))
    drawing.letter_panels(rows.flat)
    seeds = records[0].tables["fourier"]["seed"].nunique()
    drawing.note(figure, [f"mean over {seeds} networks"])
    return figure


def layers(axes: Axes, norms: pd.DataFrame) -> None:
    names = list(dict.fromkeys(norms["layer"]))
    for name, colour in zip(names, drawing.shades(len(names)), strict=True):
        curve = norms[norms["layer"] == name].groupby("step")["norm"].mean()
        axes.plot(curve.index, curve, color=colour, label=name.replace("hidden", "layer "))
    axes.set(xlabel="iteration", ylabel="spectral norm")
    axes.set_ylim(0, 1.3 * norms["norm"].max())  # room for the legend
    axes.xaxis.set_major_formatter(THOUSANDS)


def product(axes: Axes, norms: pd.DataFrame, colour: str) -> None:
    logs = log_product(norms)
    axes.plot(logs.index, logs, color=colour, linestyle=":")


main = drawing.main(__file__, __doc__, ",".join([*SETTINGS, CONTROL]), make, __name__)
