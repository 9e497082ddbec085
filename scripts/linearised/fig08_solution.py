"""ResNet18, its linearisation at the first weights, and those at its last weights.

Loss on the training images and test accuracy, on the signs of one eigenfunction of the first kernel
and on CIFAR2, with its residual branches on from the start or, as in the released code, off. The
late linearisations begin at output zero; the norms have the statistics that training left, or the
first ones again. The first points are the start. Dotted: a loss of .01, and chance. Losses below
1e-5 and above 30 are not drawn: a late kernel's trainings begin beyond what the rate bears.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from ntkexp.papers.linearised.tasks import (
    INDEX,
    MODELS,
    READINGS,
    SOLUTIONS,
    TRAINED,
    looks,
    with_late,
)
from ntkexp.scripts import drawing, runs
from ntkexp.scripts.linearised.task_panels import (
    LOOKS,
    PANEL,
    images_of,
    origin,
    records_of,
)

FIGURE = "8"
READ = {
    network + reading: f"{words}, {READINGS[reading]}"
    for network, words in zip(SOLUTIONS, ("an eigenfunction", "CIFAR2"), strict=True)
    for reading in READINGS
}
EXPERIMENTS = tuple(name for network in READ for name in with_late(network))
COLOURS = {
    "network": LOOKS["network"][1],
    "early": LOOKS["linear"][1],
    "stored": drawing.GREEN,
    "reset": drawing.PURPLE,
}
VALUES = (("train", "loss", "training loss"), ("test", "accuracy", "test accuracy"))


def make(options: drawing.Options) -> Figure:
    records = records_of(options, ("evals",))
    by_network = {network: looks(records, network) for network in READ}
    drawn = {network: frame for network, frame in by_network.items() if len(frame)}
    if not drawn:
        runs.stop(["no linearisation of ResNet18 at its last weights"])
    figure = draw(drawn)
    tasks = [record for record in records if record.experiment in READ and INDEX in record.config]
    without = [READ[network] for network in READ if network not in drawn]
    examples = records[0].config["data.test_examples"] or 10_000
    error = f"{examples:,} test images: a standard error of {0.5 / examples**0.5:.3f} at most"
    late = [f"no late linearisation of {'; '.join(without)}"] if without else []
    lines = [*(origin(record) for record in tasks[:1]), error, *late]
    lines.append("first points: the start; trainings at θ_T begin beyond what the rate bears")
    drawing.note(figure, [*lines, *images_of(records)])
    return figure


def draw(frames: Mapping[str, pd.DataFrame]) -> Figure:
    """A row a task and reading. Step 0 has no place on a logarithmic axis: half of the first look
    stands for it."""
    size = (2.4 * PANEL, PANEL * len(frames) + 0.5)
    figure, grid = drawing.subplots(len(frames), 2, figsize=size, squeeze=False)
    for row, (network, frame) in zip(grid, frames.items(), strict=True):
        start = frame["step"][frame["step"] > 0].min() / 2
        index, branches = int(frame[INDEX].iloc[0]), READ[network].partition(", ")[2]
        for axes, (split, column, label) in zip(row, VALUES, strict=True):
            for model, rows in frame[frame["split"] == split].groupby("model", sort=False):
                steps = rows["step"].mask(rows["step"] == 0, start)
                axes.plot(steps, rows[column], "o-", markersize=3,
                          color=COLOURS[str(model)], label=MODELS[str(model)])  # fmt: skip
            axes.set(xscale="log", xlabel="step", ylabel=label)
            axes.set_title(f"{f'j = {index}' if index else 'CIFAR2'}, {branches}")
        row[0].set_yscale("log")
        row[0].set_ylim(1e-5, 30)
        for axes, height in zip(row, (TRAINED, 0.5), strict=True):
            axes.axhline(height, color="0.6", linestyle=":", linewidth=0.8)
    drawing.legend_above(figure, *grid[0][0].get_legend_handles_labels())
    return figure


main = drawing.main(__file__, __doc__, ",".join(EXPERIMENTS), make, __name__)
