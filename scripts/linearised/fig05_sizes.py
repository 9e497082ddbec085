"""CIFAR2 by the number of images: networks and their linearisations.

Top: test accuracy; bottom: how far the weights have moved from the first ones. Means over seeds,
with the least and the most. Crosses: 256 images for the updates of 4,096, a seed each.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from ntkexp.papers.linearised.tasks import NETS, STEPS, by_size
from ntkexp.results.numbers.evals import last
from ntkexp.scripts import drawing
from ntkexp.scripts.linearised.task_panels import LOOKS, PANEL, images_of, no_runs, records_of

FIGURE = "5"
EXPERIMENTS = (
    "linearised/sizes_mlp",
    "linearised/sizes_mlp_linear",
    "linearised/sizes_lenet",
    "linearised/sizes_lenet_linear",
    STEPS,
)


def draw(frame: pd.DataFrame, control: pd.DataFrame) -> Figure:
    nets = [net for net in NETS if net in set(frame["net"])]
    size = (max(PANEL * len(nets), drawing.COLUMN), 2 * PANEL)
    figure, grid = drawing.subplots(2, len(nets), figsize=size, squeeze=False)
    for column, net in enumerate(nets):
        for row, value in enumerate(("accuracy", "distance")):
            axes = grid[row][column]
            for whose, (label, colour, marker) in LOOKS.items():
                rows = frame[(frame["net"] == net) & (frame["whose"] == whose)]
                if rows.empty:
                    continue
                over = rows.groupby("size")[value].agg(["mean", "min", "max"])
                axes.fill_between(over.index, over["min"], over["max"], color=colour, alpha=0.2,
                                  linewidth=0)  # fmt: skip
                axes.plot(over.index, over["mean"], marker + "-", markersize=3, color=colour,
                          label=label)  # fmt: skip
            sizes = sorted(frame["size"].unique())
            axes.set(xscale="log", xlabel="training images", xticks=sizes)
            axes.set_xticklabels([f"{int(size):,}" for size in sizes])
            axes.xaxis.set_minor_locator(NullLocator())
            if net == "mlp" and len(control):
                at = [256] * len(control)
                axes.plot(at, control[value], "x", markersize=4, color=drawing.BLACK,
                          label="updates of 4,096")  # fmt: skip
        grid[0][column].set_title(NETS[net])
    grid[0][0].set_ylabel("test accuracy")
    grid[1][0].set_ylabel("|θ − θ₀|")
    drawing.legend_above(figure, *grid[1][0].get_legend_handles_labels())
    return figure


def make(options: drawing.Options) -> Figure:
    records = records_of(options, ("evals", "distance"))
    control = [
        {
            "accuracy": last(record.tables["evals"]),
            "distance": record.tables["distance"].sort_values("step")["distance"].iloc[-1],
        }
        for record in records
        if record.experiment == STEPS
    ]
    frame = by_size(records)
    figure = draw(frame, pd.DataFrame(control))
    seeds = frame.groupby(["net", "size"])["seed"].nunique()
    least, most = seeds.min(), seeds.max()
    each = f"{most}" if least == most else f"{least} to {most}"
    without = [NETS[net] for net in ("mlp", "lenet") if net not in set(frame["net"])]
    drawing.note(figure, [f"seeds of each size: {each}", *no_runs(without), *images_of(records)])
    return figure


main = drawing.main(__file__, __doc__, ",".join(EXPERIMENTS), make, __name__)
