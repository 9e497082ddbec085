"""Figure 5.1: estimates of the mutual information of normal vectors, beside the truth.

By the correlation of their coordinates, left one and right twenty, from 10,000 pairs; mean, least
and most over seeds. Hollow: networks that see new pairs at every step.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.scripts import drawing, runs
from ntkexp.theory.information.gaussian import information

FIGURE = "5.1"
# experiment -> its panel, and whether its pairs are endless
PANELS = {"information/gaussians": (0, False), "information/gaussians_20": (1, False),
          "information/gaussians_20_endless": (1, True)}  # fmt: skip
TITLES = ("one coordinate", "twenty coordinates")
OBJECTIVES = {"mine": ("MINE", drawing.BLUE), "mine_f": ("MINE-f", drawing.VERMILION)}
SIZES = {drawing.BLUE: 5.0, drawing.VERMILION: 3.2, drawing.GREEN: 1.6}  # one inside the other
TABLES = ("information",)


def make(options: drawing.Options) -> Figure:
    records = runs.chosen_of(options.experiments, options.runs, TABLES)
    figure, row = drawing.subplots(1, 2, figsize=(drawing.PAGE, 2.6))
    for axes, title, dimension in zip(row, TITLES, (1, 20), strict=True):
        rhos = np.linspace(-0.99, 0.99, 199) if dimension == 1 else np.linspace(-0.6, 0.92, 153)
        truth = [information(rho, dimension) for rho in rhos]
        axes.plot(rhos, truth, color=drawing.BLACK, linewidth=0.8, label="truth")
        axes.set(xlabel=r"correlation $\rho$", title=title)
    for record in records:
        place, endless = PANELS[record.experiment]
        estimates(row[place], record.tables["information"], endless)
    row[0].set_ylabel("mutual information (nats)")
    for axes in row:
        axes.legend(fontsize=6)
    drawing.letter_panels(row)
    return figure


def estimates(axes: Axes, table: pd.DataFrame, endless: bool) -> None:
    for objective, (label, colour) in OBJECTIVES.items():
        rows = table[table["study.objective"] == objective]
        points(axes, rows, "value", colour, f"{label}{', endless pairs' * endless}", endless)
    near = table.dropna(subset="ksg")
    if len(near):
        points(axes, near, "ksg", drawing.GREEN, "nearest neighbours", endless)


def points(
    axes: Axes, rows: pd.DataFrame, column: str, colour: str, label: str, hollow: bool
) -> None:
    values = rows.groupby("study.rho")[column].agg(["mean", "min", "max"])
    reach = [values["mean"] - values["min"], values["max"] - values["mean"]]
    axes.errorbar(
        values.index, values["mean"], reach, fmt="o", markersize=SIZES[colour], color=colour,
        label=label, markerfacecolor="none" if hollow else colour, linewidth=0.8,
    )  # fmt: skip


main = drawing.main(__file__, __doc__, ",".join(PANELS), make, __name__)
