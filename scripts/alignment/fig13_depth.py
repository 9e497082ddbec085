"""Figure 13: alignment of easy and difficult examples for several depths and seeds.

Rows: hidden layers. Columns: seeds, which decide initial weights, examples and their order. CKA of
the kernel on equally many easy and difficult training examples, centred by class. Dotted: the ratio
of easy to difficult, on the axis to the right.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ntkexp.scripts import drawing, trained
from ntkexp.scripts.alignment.fig04_easy_difficult import SUBSETS, TABLES

FIGURE = "13"
SWEPT = ("model.depth", "seed")


def draw(groups: Sequence[trained.SeedRuns]) -> Figure:
    depths = sorted({group.config["model.depth"] for group in groups})
    seeds = sorted({group.config["seed"] for group in groups})
    figure, panels = drawing.subplots(
        len(depths),
        len(seeds),
        figsize=(drawing.PAGE, 0.6 + 1.35 * len(depths)),
        sharex=True,
        sharey=True,
        squeeze=False,
    )
    last = max(group.tables["evals"]["step"].max() for group in groups)
    highest = 0.0
    ratios = []
    for group in groups:
        row, column = depths.index(group.config["model.depth"]), seeds.index(group.config["seed"])
        ratios.append(panels[row, column].twinx())
        highest = max(highest, panel(panels[row, column], ratios[-1], group))
        panels[row, column].set_xscale("log")
        ratios[-1].tick_params(right=column == len(seeds) - 1, labelright=column == len(seeds) - 1)
    for ratio in ratios:
        ratio.set_ylim(0, 1.05 * highest)
    for axes in panels.flat:
        drawing.iteration_axis(axes, last)
        axes.label_outer()
    for axes, depth in zip(panels[:, 0], depths, strict=True):
        axes.set(ylabel=f"{depth} layers\nCKA", ylim=(0, None))
    for axes, seed in zip(panels[0], seeds, strict=True):
        axes.set_title(f"seed {seed}")
    lines = [Line2D([], [], color=colour) for _, colour in SUBSETS]
    lines.append(Line2D([], [], color=drawing.BLACK, linestyle=":"))
    names = [*(name for name, _ in SUBSETS), "easy / difficult (right axis)"]
    figure.legend(lines, names, loc="outside upper center", ncols=3)
    trained.note(figure, groups, f"{len(seeds)} seeds, one a column; {trained.CENTRED}")
    return figure


def panel(axes: Axes, beside: Axes, group: trained.SeedRuns) -> float:
    """Draws one network's curves and returns its largest ratio of easy to difficult."""
    alignment = group.tables["alignment"]
    whole = alignment[(alignment["layer"] == "total") & (alignment["centring"] == "class")]
    means = {}
    for subset, colour in SUBSETS:
        part = whole[(whole["subset"] == subset) & (whole["split"] == "train")]
        trained.curve(axes, part, "cka", colour=colour)
        steps, values = trained.over_runs(part, "cka")
        means[subset] = values.mean(axis=0)
    ratio = means["easy"] / means["difficult"]
    beside.plot(steps, ratio, color=drawing.BLACK, linestyle=":", linewidth=0.8)
    return float(np.nanmax(ratio[steps >= drawing.FIRST_ITERATION], initial=1.0))


def make(options: drawing.Options) -> Figure:
    (groups,) = trained.groups(options, TABLES, swept=SWEPT)
    return draw(groups)


main = drawing.main(__file__, __doc__, "easy_difficult_depth", make, __name__)
