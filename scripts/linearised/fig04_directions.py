"""Linear tasks along LeNet's anisotropy directions.

Left: test accuracy of the network and of its linearisation on two classes that one direction of the
inputs tells apart, and of regression with the network's first kernel (crosses). Right: the
alignment of each direction with the kernel, from the mixed derivative at the origin and from its
mean over Gaussian inputs. Of 1,024 directions those to 400 are tasks; ResNet18 has none.
"""

from __future__ import annotations

from matplotlib.figure import Figure

from ntkexp.papers.linearised.tasks import by_task, each_task, pairs
from ntkexp.scripts import drawing, runs
from ntkexp.scripts.linearised.task_panels import (
    LOOKS,
    PANEL,
    draw_points,
    records_of,
    untrained,
)

FIGURE = "4"
DIRECTIONS = "linearised/directions_lenet"
EXPERIMENTS = ("linearised/separable", "linearised/separable_linear", DIRECTIONS)


def make(options: drawing.Options) -> Figure:
    records = records_of(options, ())
    both = list(pairs([record for record in records if record.experiment != DIRECTIONS]))
    directions = [record for record in records if record.experiment == DIRECTIONS]
    if not both or not directions:
        runs.stop(["expected a network, its linearisation, and its directions"])
    figure, (left, right) = drawing.subplots(1, 2, figsize=(drawing.PAGE * 0.75, PANEL + 0.4))
    pair = both[0]
    for whose, (label, colour, _) in LOOKS.items():
        tasks = pair.network if whose == "network" else pair.linear
        left.plot(tasks.index, tasks["accuracy"], color=colour, label=label)
        draw_points(left, tasks, "accuracy", whose)
    regression = by_task(records, "kernel_regression")
    if len(regression):
        test = regression[regression["split"] == "test"].sort_values("data.index")
        left.plot(test["data.index"], test["accuracy"], "x", markersize=4, color="0.5",
                  label="kernel regression")  # fmt: skip
    table = directions[0].tables["directions"]
    right.plot(table["index"], table["alignment"], color="black", label="at the origin")
    if table["gaussian"].notna().any():
        right.plot(table["index"], table["gaussian"], color="0.5", linewidth=0.7,
                   label="mean over Gaussian inputs")  # fmt: skip
    left.set(xscale="log", xlabel="index of the direction", ylabel="test accuracy")
    right.set(xscale="log", yscale="log", xlabel="index of the direction", ylabel="alignment")
    right.legend(frameon=False)
    drawing.legend_above(figure, *left.get_legend_handles_labels())
    config = next(record.config for record in records if record.experiment != DIRECTIONS)
    lines = [
        f"classes at distance {2 * config['data.epsilon']:g} along the direction; "
        f"{config['model.activation']}; {config['data.train_examples']:,} training examples"
    ]
    drawing.note(figure, [*lines, *untrained(each_task([pair]))])
    return figure


main = drawing.main(__file__, __doc__, ",".join(EXPERIMENTS), make, __name__)
