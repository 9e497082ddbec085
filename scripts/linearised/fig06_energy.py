"""How much of CIFAR2's labels lies in 50 leading eigenvectors of the kernel, along training.

Energy concentration |Φy| / |y| on 12,000 training images, beside that of random labels and √(K/n).
Stars: Table 1 of the text, at both ends; at the start .260 and .258, on one another. Dashed: by
Adam. ResNet18 has two looks and no curve.
"""

from __future__ import annotations

import math

from matplotlib.figure import Figure

from ntkexp.papers.linearised.claims.cifar2 import ADAM, TABLE_1
from ntkexp.papers.linearised.kernels import energies
from ntkexp.papers.linearised.tasks import NETS
from ntkexp.scripts import drawing
from ntkexp.scripts.linearised.task_panels import PANEL, images_of, records_of

FIGURE = "6"
EXPERIMENTS = ("linearised/cifar2_mlp", "linearised/cifar2_lenet", ADAM)
COLOURS = dict(zip(TABLE_1, (drawing.BLUE, drawing.GREEN), strict=True))


def make(options: drawing.Options) -> Figure:
    records = records_of(options, ("energy_concentration",))
    figure, axes = drawing.subplots(figsize=(1.4 * PANEL, PANEL + 0.6))
    by_sgd = [record for record in records if record.experiment != ADAM]
    for table in energies([record for record in records if record.experiment == ADAM]).values():
        axes.plot(table.index[1:], table["labels"].iloc[1:], "--", color=COLOURS["mlp"],
                  label="MLP by Adam")  # fmt: skip
    for net, table in energies(by_sgd).items():
        colour = COLOURS[net]
        # Step 0 has no place on a logarithmic axis: one before the first look stands for it.
        steps = table.index.to_numpy(dtype=float)
        steps[0] = steps[1] / 10 if len(steps) > 1 else 1.0
        axes.plot(steps, table["labels"], "o-", markersize=3, color=colour, label=NETS[net])
        axes.plot(steps, table["random"], ":", color=colour, label=f"{NETS[net]}, random labels")
        for step, value in zip((steps[0], steps[-1]), TABLE_1[net], strict=False):
            axes.plot([step], [value], "*", color=colour)
        count = int(table["count"].iloc[0])
    examples = int(records[0].config["probing.examples"])
    axes.axhline(math.sqrt(count / examples), color="0.6", linewidth=0.6, label="√(K/n)")
    axes.set(xscale="log", xlabel="iteration (first point: the start)",
             ylabel="energy concentration", ylim=(0, 1))  # fmt: skip
    axes.legend()
    drawing.note(figure, [f"K = {count}, n = {examples:,}; stars: Table 1", *images_of(records)])
    return figure


main = drawing.main(__file__, __doc__, ",".join(EXPERIMENTS), make, __name__)
