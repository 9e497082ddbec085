"""What the tangent kernel says of the next steps of training, beside what training does.

a to c: how much the residual at each frequency falls in the next 1, 10 and 100 steps of Adam, by
the frozen kernel over measured; early, middle and late starts, means over ten starts and networks.
Within a factor of 2 in the grey band; in the strip below, without a value, one rises and the other
falls. c leaves out two starts beyond the edge of stability, where the frozen kernel's residuals
explode. d: three sines by gradient descent, measured (lines) and by the kernel of the first weights
(dashed).
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.papers.spectral.numbers import falls
from ntkexp.scripts import drawing, runs

KERNEL, DESCENT = "spectral/kernel", "spectral/descent"
TABLES = ("fourier", "kernel_replay")
STAGES = ("early", "middle", "late")
# Of Adam, (2 + 2 b) / (1 - b), for b = 0.9.
EDGE = 38
STRIP = (0.03, 0.08)


def make(options: drawing.Options) -> Figure:
    adam, descent = (runs.one(name, options.runs, TABLES) for name in options.experiments)
    figure, row = drawing.subplots(1, 4, figsize=(1.3 * drawing.PAGE, 2.4))
    fourier, replay = (adam.tables[name] for name in TABLES)
    table = falls(fourier, replay[(replay["after"] < 100) | (replay["edge"] < EDGE)])
    for axes, after in zip(row, sorted(table["after"].unique()), strict=False):
        ratios(axes, table[table["after"] == after])
        axes.set_title(f"{after} step{'s' if after > 1 else ''}")
    row[0].set_ylabel("fall by the kernel / measured")
    row[0].legend()
    frozen(row[-1], descent.tables["fourier"], descent.tables["kernel_replay"])
    drawing.letter_panels(row)
    return figure


def ratios(axes: Axes, table: pd.DataFrame) -> None:
    axes.axhspan(0.5, 2, color="0.9")
    axes.axhspan(*STRIP, color="0.95")
    axes.text(0.5, 0.03, "wrong sign", transform=axes.transAxes, ha="center", fontsize=6)
    for stage, rows in table.groupby("stage"):
        place = int(str(stage))
        ratio = (rows["predicted"] / rows["measured"]).to_numpy()
        drawn = np.where(ratio > 0, ratio, np.sqrt(np.prod(STRIP)))
        beside = rows["k"] + place - 1  # so that none covers another
        axes.plot(
            beside, drawn, "o", markersize=3, color=drawing.PALETTE[place], label=STAGES[place]
        )
    axes.set(xlabel="frequency $k$", yscale="log", ylim=(STRIP[0] / 4, 2000))
    axes.set_xticks(range(10, 51, 10))


def frozen(axes: Axes, fourier: pd.DataFrame, replayed: pd.DataFrame) -> None:
    first = replayed[replayed["step"] == 0]
    for k, colour in zip(sorted(fourier["k"].unique()), drawing.PALETTE, strict=False):
        measured = fourier[fourier["k"] == k].groupby("step")["residual"].mean()
        axes.plot(measured.index, measured, color=colour, label=f"$k = {k}$")
        kernel = first[first["k"] == k].groupby("after")["residual"].mean()
        axes.plot(kernel.index, kernel, "--", color=colour)
    axes.set(xlabel="iteration", ylabel=r"$|\tilde f_k - \tilde\lambda_k|$", ylim=(0, None))
    axes.set_xscale("symlog", linthresh=1)
    axes.set_xlim(0, None)
    axes.legend()


main = drawing.main(__file__, __doc__, f"{KERNEL},{DESCENT}", make, __name__)
