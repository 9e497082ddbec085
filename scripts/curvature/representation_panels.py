"""Panels of representations of the Fisher matrix: a row a network, a colour a representation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.papers.curvature.claims.representations import NETWORKS
from ntkexp.results.record import Record
from ntkexp.scripts import drawing, runs

EXPERIMENTS = ",".join(NETWORKS)
COLOURS = {
    "diagonal": drawing.SKY,
    "quasi_diagonal": drawing.GREEN,
    "kfac": drawing.VERMILION,
    "ekfac": drawing.BLUE,
}
NAMES = {"diagonal": "diagonal", "quasi_diagonal": "quasi-diagonal", "kfac": "KFAC",
         "ekfac": "EKFAC"}  # fmt: skip
# Labels drawn for each image, as in the thesis, or all classes.
LINES = {"mc": "-", "exact": ":"}


def records_of(options: drawing.Options, tables: Sequence[str]) -> list[Record]:
    return runs.chosen_of(options.experiments, options.runs, tables)


def along_training(
    options: drawing.Options, table: str, label: str, of: Callable[[pd.DataFrame], pd.Series]
) -> Figure:
    """A panel a network: what `of` makes of the rows, mean and standard error by moment."""
    records = records_of(options, [table])
    figure, grid = drawing.subplots(
        1, len(records), figsize=(drawing.COLUMN * len(records), 2.4), squeeze=False
    )
    for axes, record in zip(grid[0], records, strict=True):
        rows = record.tables[table].assign(value=lambda found: of(found))
        for (kind, labels), part in rows.groupby(["kind", "of"]):
            by_step = part.groupby("step")["value"]
            name = NAMES[str(kind)] if labels == "mc" else None
            axes.errorbar(range(len(by_step)), by_step.mean(), by_step.sem().fillna(0), label=name,
                          color=COLOURS[str(kind)], linestyle=LINES[str(labels)],
                          marker="o", markersize=3)  # fmt: skip
        moments(axes, sorted(rows["step"].unique()))
        axes.set(title=NETWORKS[record.experiment], ylabel=label)
    drawing.legend_above(figure, *grid[0][0].get_legend_handles_labels())
    drawing.note(figure, ["solid: 5 labels drawn for an image; dotted: all classes"])
    return figure


def moments(axes: Axes, steps: Sequence[int]) -> None:
    axes.set_xticks(range(len(steps)), [f"{step:,}" for step in steps])
    axes.set_xlabel("updates")
