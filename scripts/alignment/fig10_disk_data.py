"""Figure 10: the disk's training set, and the lattice on which the kernel is evaluated."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from ntkexp.data.points import RADIUS
from ntkexp.scripts import drawing

FIGURE = "10"
PARTS = {"train": ("training set", 5.0), "test": ("lattice", 0.7)}


def draw(points: pd.DataFrame) -> Figure:
    figure, panels = drawing.subplots(1, 2, figsize=(drawing.COLUMN, drawing.COLUMN * 0.62))
    for axes, (split, (name, size)) in zip(panels, PARTS.items(), strict=True):
        part = points[points["split"] == split]
        _scatter(axes, part, size)
        axes.set_title(f"{name}, {len(part):,} points")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, markerscale=1.2)
    return figure


def _scatter(axes: Axes, part: pd.DataFrame, size: float) -> None:
    for label, colour, name in ((1, drawing.VERMILION, "+1"), (0, drawing.BLUE, "−1")):
        chosen = part[part["label"] == label]
        axes.scatter(chosen["x"], chosen["y"], s=size, color=colour, linewidths=0, label=name)
    axes.add_patch(Circle((0, 0), RADIUS, fill=False, linewidth=0.6))
    axes.set(xticks=[-1, 0, 1], yticks=[-1, 0, 1], aspect="equal")


main = drawing.main(__file__, __doc__, "disk", drawing.of_one_run(("points",), draw), __name__)
