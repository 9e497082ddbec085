"""Modes of 25 Gaussians and stretches of a spiral that generators capture as they learn.

With MINE and without, mean, least and most over seeds; below the share of samples within three
standard deviations of any. Dotted: MINE whose gradient is not clipped.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.papers.information.claims.toys import BETA, SEED, TOY
from ntkexp.scripts import drawing, runs

LONG, SHORT, FREE = (f"information/toys{end}" for end in ("_long", "", "_unclipped"))
COLUMNS = {"captured": "captured", "near": "share near a mode"}
STYLES = {0.0: (drawing.VERMILION, "GAN"), 1.0: (drawing.BLUE, "GAN + MINE")}


def make(options: drawing.Options) -> Figure:
    records = runs.chosen_of(options.experiments, options.runs, ("gan_looks",))
    tables = {record.experiment: record.tables["gan_looks"] for record in records}
    figure, grid = drawing.subplots(2, 2, figsize=(drawing.PAGE, 3.6), sharex=True)
    for column, toy in enumerate(("gaussians", "spiral")):
        for row, name in enumerate(COLUMNS):
            axes = grid[row][column]
            if (trained := tables.get(LONG, tables.get(SHORT))) is not None:
                for beta, (colour, label) in STYLES.items():
                    curve(axes, trained[trained[BETA] == beta], toy, name, colour, label)
            if FREE in tables:
                curve(axes, tables[FREE], toy, name, drawing.SKY, "no clip", ":")
        grid[0][column].set_title(toy)
        grid[1][column].set_xlabel("iteration")
    for row, words in enumerate(COLUMNS.values()):
        grid[row][0].set_ylabel(words)
    grid[0][0].legend()
    return figure


def curve(
    axes: Axes, looks: pd.DataFrame, toy: str, name: str, colour: str, label: str, style: str = "-"
) -> None:
    of_toy = looks[looks[TOY] == toy]
    values = drawing.by_seed(of_toy, name, seed=SEED)
    steps = sorted(of_toy["step"].unique())
    drawing.mean_and_band(axes, steps, values, colour=colour, label=label, linestyle=style)


main = drawing.main(__file__, __doc__, ",".join((LONG, SHORT, FREE)), make, __name__)
