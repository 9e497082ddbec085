"""Figure A.13: nearest neighbours beside a network.

Accuracy of K nearest neighbours on the training points (above; K = 1 is always right) and between
them, mean over phases. Below: the radial spectrum of maps of the plane, of K nearest neighbours and
of a network, left of class probabilities, right of classes; the signal has a frequency of 150 on 20
petals, and k counts periods over the side of the map. Grey: the octaves whose slopes are compared.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.papers.spectral.claims.petals import OCTAVES, SMOOTHNESS, beside_neighbours, zetas
from ntkexp.results.record import Record
from ntkexp.scripts import drawing, runs
from ntkexp.scripts.spectral.heatmap import cells

FIGURE = "A.13"
WHERE = {"train": "on the points", "between": "between them"}


def make(options: drawing.Options) -> Figure:
    network, neighbours = SMOOTHNESS
    records = [
        runs.one(neighbours, options.runs, ["neighbour_accuracy", "neighbour_spectrum"]),
        runs.one(network, options.runs, ["radial_spectrum"]),
    ]
    table = records[0].tables["neighbour_accuracy"]
    numbers = sorted(table["neighbours"].unique())
    figure = Figure(figsize=(drawing.PAGE, 6))
    above, below = figure.subfigures(2, 1, height_ratios=(3, 2))
    panels = above.subplots(2, len(numbers), squeeze=False, sharex=True, sharey=True)
    for row, points in zip(panels, ("train", "between"), strict=True):
        for axes, K in zip(row, numbers, strict=True):
            image = accuracy(axes, table[(table["points"] == points) & (table["neighbours"] == K)])
            axes.label_outer()
        row[0].set_ylabel(f"{WHERE[points]}\npetals $L$")
    for axes, K in zip(panels[0], numbers, strict=True):
        axes.set_title(f"$K = {K}$")
    above.colorbar(image, ax=panels[:, -1], label="accuracy")
    for axes, kind in zip(below.subplots(1, 2), ("probability", "class"), strict=True):
        spectra(axes, records, kind)
    return figure


def accuracy(axes: Axes, rows: pd.DataFrame) -> object:
    table = rows.pivot_table(index="frequency", columns="petals", values="accuracy")
    image = cells(axes, table)
    axes.set_xticks(range(1, len(table.index), 2), table.index[1::2])
    return image


def spectra(axes: Axes, records: Sequence[Record], kind: str) -> None:
    axes.axvspan(OCTAVES[0][0], OCTAVES[-1][1], color="0.93")
    ((_, _, *tables),) = beside_neighbours(records)
    network, neighbours = zetas(*tables, kind)
    for (K, zeta), colour in zip(neighbours.items(), drawing.shades(len(neighbours)), strict=True):
        axes.plot(zeta.index, zeta, color=colour, label=f"$K = {K}$", linewidth=0.8)
    axes.plot(network.index, network, color=drawing.VERMILION, label="network")
    axes.set(xscale="log", yscale="log", xlabel="$k$", ylabel=r"$\zeta(k)$", title=f"map of {kind}")
    if kind == "class":
        axes.legend()


main = drawing.main(__file__, __doc__, ",".join(SMOOTHNESS), make, __name__)
