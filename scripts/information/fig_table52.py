"""Table 5.2: reconstructions of MNIST's test digits by encoders and decoders.

Distance of an image and its reconstruction, share that keeps its digit, and MS-SSIM, as means over
the looks of the last third. Dots are runs, rings the text's, whose networks are eight times as wide
and whose scale of the distance is not known.
"""

from __future__ import annotations

from matplotlib.figure import Figure

from ntkexp.papers.information.claims.inference import LABELS, late_means
from ntkexp.scripts import drawing, runs

FIGURE = "table 5.2"
# What is measured: its factor, label, and the text's numbers in the order of the rows.
COLUMNS = {
    "error": (1, "distance", (14.24, 3.20, 5.20, 9.73)),
    "accuracy": (100, "digits kept (%)", (45.95, 99.03, 98.17, 96.10)),
    "similarity": (1, "MS-SSIM", (0.97, 0.97, 0.98, 0.99)),
}


def make(options: drawing.Options) -> Figure:
    records = runs.chosen_of(options.experiments, options.runs, ("digit_inference",))
    seeds = late_means(records).values()
    figure, row = drawing.subplots(
        1, len(COLUMNS), figsize=(drawing.PAGE, 1.8), sharey=True
    )  # fmt: skip
    for axes, (column, (factor, label, text)) in zip(row, COLUMNS.items(), strict=True):
        axes.plot(text, range(len(LABELS)), "o", color=drawing.BLACK, markerfacecolor="none")
        for place, variant in enumerate(LABELS):
            found = [factor * models[variant][column] for models in seeds if variant in models]
            axes.plot(found, [place] * len(found), ".", color=drawing.VERMILION)
        axes.set(xlabel=label)
    row[0].set_yticks(range(len(LABELS)), [*LABELS.values()])
    row[0].set_ylim(len(LABELS) - 0.5, -0.5)
    return figure


main = drawing.main(__file__, __doc__, "information/digit_inference", make, __name__)
