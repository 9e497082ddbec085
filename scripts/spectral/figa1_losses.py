"""Figure A.1: the losses of Experiment 1, mean over networks, and the exact linear pieces.

a: mean squared error on the training points. b: pieces of the function on [0, 1]. c: the largest
slope, the product of the layers' spectral norms and the bound by the largest weight of equation 7.
b and c: means over two networks of each setting, with logarithmic iterations.
"""

from __future__ import annotations

from matplotlib.figure import Figure

from ntkexp.scripts import drawing, runs
from ntkexp.scripts.spectral.heatmap import squared_error

FIGURE = "A.1"
SETTINGS = {"spectral/equal": (drawing.BLUE, "equal amplitudes"),
            "spectral/increasing": (drawing.VERMILION, "increasing")}  # fmt: skip
BOUNDS = (("lipschitz", "-", "slope"), ("product", "--", r"$\prod \|W_k\|$"),
          ("max_norm", ":", "largest weight"))  # fmt: skip


def make(options: drawing.Options) -> Figure:
    records = runs.chosen_of(options.experiments, options.runs, ("evals", "linear_pieces"))
    figure, (left, middle, right) = drawing.subplots(1, 3, figsize=(drawing.PAGE, 2.5))
    for record in records:
        colour, label = SETTINGS[record.experiment]
        squared_error(left, record.tables["evals"], colour=colour, label=label)
        exact = record.tables["linear_pieces"].groupby("step").mean(numeric_only=True)
        middle.plot(exact.index, exact["regions"], "o-", markersize=2, color=colour)
        for column, style, name in BOUNDS:
            right.plot(exact.index, exact[column], style, color=colour, label=name)
    left.legend()
    handles, labels = right.get_legend_handles_labels()
    right.legend(handles[: len(BOUNDS)], labels[: len(BOUNDS)])
    left.set_ylabel("mean squared error")
    middle.set(xlabel="iteration", ylabel="linear pieces", ylim=(0, None))
    right.set(xlabel="iteration", ylabel="largest slope and its bounds", yscale="log")
    for axes in (middle, right):
        axes.set_xscale("symlog", linthresh=100)
        axes.set_xlim(0, None)
    drawing.letter_panels((left, middle, right))
    seeds = records[0].tables["evals"]["seed"].nunique()
    drawing.note(figure, [f"a: {seeds} networks, {drawing.band_label(seeds)}"])
    return figure


main = drawing.main(__file__, __doc__, ",".join(SETTINGS), make, __name__)
