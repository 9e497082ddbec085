"""Figure 3.3: v' = (F~ + damping)^-1 (F + damping) v beside v, against the damping.

A column a moment of training, means over random directions; λ₁ is F's largest eigenvalue. Higher
cosines and lower residuals are better. Solid: 5 labels drawn for an image, dotted: all classes.
"""

from __future__ import annotations

from matplotlib.figure import Figure

from ntkexp.papers.curvature.claims.representations import NETWORKS
from ntkexp.scripts import drawing
from ntkexp.scripts.curvature.representation_panels import (
    COLOURS,
    EXPERIMENTS,
    LINES,
    NAMES,
    records_of,
)

FIGURE = "3.3"
PANEL = 1.7


def make(options: drawing.Options) -> Figure:
    records = records_of(options, ["fisher_solves"])
    panels = [(record, value) for record in records for value in ("cosine", "residual")]
    steps = sorted(records[0].tables["fisher_solves"]["step"].unique())
    figure, grid = drawing.subplots(
        len(panels), len(steps), figsize=(drawing.PAGE, PANEL * len(panels)), squeeze=False
    )
    for row, (record, value) in zip(grid, panels, strict=True):
        table = record.tables["fisher_solves"]
        for axes, (step, at_step) in zip(row, table.groupby("step"), strict=False):
            for (kind, labels), part in at_step.groupby(["kind", "of"]):
                means = part.groupby("damping")[value].mean()
                axes.plot(means.index, means, LINES[str(labels)], color=COLOURS[str(kind)],
                          label=NAMES[str(kind)] if labels == "mc" else None)  # fmt: skip
            axes.set_xscale("log")
            axes.set_title(f"{NETWORKS[record.experiment]}, step {step:,}")
            if value == "residual":
                axes.set_yscale("log")
        row[0].set_ylabel(value)
    for axes in grid[-1]:
        axes.set_xlabel(r"damping / $\lambda_1$")
    drawing.legend_above(figure, *grid[0][0].get_legend_handles_labels())
    return figure


main = drawing.main(__file__, __doc__, EXPERIMENTS, make, __name__)
