"""What estimates hang on: the moving average in MINE's gradient, and the scale of the numbers.

Left the error with the average and without, by the size of a minibatch, twenty coordinates. Right
estimates of one nat whose numbers were sent through bijections, with one and with five coordinates.
Mean, least and most over seeds.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.papers.information.numbers import by_correction
from ntkexp.scripts import drawing, runs

CORRECTION = "information/correction"
BIJECTIONS = {"information/bijections": "d = 1", "information/bijections_5": "d = 5"}
GRADIENTS = {"mine": "average", "naive": "naive"}
MARGINS = ("normal", "asinh", "uniform", "cubed")


def make(options: drawing.Options) -> Figure:
    records = {
        record.experiment: record.tables["information"]
        for record in runs.chosen_of(options.experiments, options.runs, ("information",))
    }
    figure, (left, right) = drawing.subplots(1, 2, figsize=(drawing.PAGE, 2.4))
    if CORRECTION in records:
        correction(left, records[CORRECTION])
    estimates = [(records[name], label) for name, label in BIJECTIONS.items() if name in records]
    for place, (table, label) in enumerate(estimates):
        bijections(right, table, label, place)
    right.axhline(1, color="0.6")
    right.set_xticks(range(len(MARGINS)), MARGINS)
    right.set(ylabel="nats", ylim=(0, 1.3))
    if estimates:
        right.legend(ncols=2)
    drawing.letter_panels((left, right))
    return figure


def correction(axes: Axes, table: pd.DataFrame) -> None:
    errors = by_correction(table)
    styles = dict(zip(errors.index.unique(0), ("-", "--"), strict=False))
    for rho, style in styles.items():
        for column, colour in zip(GRADIENTS, (drawing.BLUE, drawing.VERMILION), strict=True):
            by_batch = errors.loc[rho][column].unstack(0)
            drawing.mean_and_band(
                axes, by_batch.columns.to_numpy(), by_batch.to_numpy(), colour=colour,
                label=rf"{GRADIENTS[column]}, $\rho = {rho:g}$", linestyle=style,
            )  # fmt: skip
    axes.set(xscale="log", xlabel="pairs of a minibatch", ylabel="error (nats)")
    batches = errors.index.unique(1)
    axes.set_xticks(batches, batches)
    axes.minorticks_off()
    axes.legend()


def bijections(axes: Axes, table: pd.DataFrame, label: str, place: int) -> None:
    for objective, marker in (("mine", "o"), ("mine_f", "s")):
        rows = table[table["study.objective"] == objective]
        values = rows.groupby("study.margins")["value"].agg(["mean", "min", "max"]).loc[[*MARGINS]]
        at = np.arange(len(MARGINS)) + 0.3 * place + (0.12 if marker == "s" else 0) - 0.2
        reach = [values["mean"] - values["min"], values["max"] - values["mean"]]
        name = {"mine": "MINE", "mine_f": "MINE-f"}[objective]
        axes.errorbar(at, values["mean"], reach, fmt=marker, markersize=3,
                      color=drawing.PALETTE[place], label=f"{name}, {label}")  # fmt: skip


main = drawing.main(__file__, __doc__, ",".join([CORRECTION, *BIJECTIONS]), make, __name__)
