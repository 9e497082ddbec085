"""Figure 3.9: accuracy on a binarised sine of frequency k along curves with L petals.

On the training points, mean over networks and the last looks; the k are not evenly spaced. A
constant answer is right on two thirds of the points.
"""

from __future__ import annotations

from matplotlib.figure import Figure

from ntkexp.papers.spectral.claims.petals import accuracies
from ntkexp.scripts import drawing, runs
from ntkexp.scripts.spectral.heatmap import cells

FIGURE = "3.9"


def make(options: drawing.Options) -> Figure:
    record = runs.one(options.experiment, options.runs, ["evals"])
    figure, axes = drawing.subplots(figsize=(drawing.COLUMN, 2.6))
    image = cells(axes, accuracies(record.tables["evals"]))
    figure.colorbar(image, ax=axes, label="training accuracy")
    seeds = record.tables["evals"]["seed"].nunique()
    drawing.note(figure, [f"mean over {seeds} networks a cell"])
    return figure


main = drawing.main(__file__, __doc__, "spectral/classes", make, __name__)
