"""How the values of MINE near the truth with the number of pairs (Theorem 5.4).

On the pairs that train the network and on fresh ones, at the end of training; dashed at the look
that held-out pairs chose. Mean, least and most over seeds. Left one coordinate, rho = .9, right
twenty, rho = .5; the grey line is the truth.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from ntkexp.scripts import drawing, runs

EXPERIMENTS = ("information/consistency", "information/consistency_20")
CURVES = {
    "end_train": ("training pairs", drawing.VERMILION, "-"),
    "end_value": ("fresh pairs", drawing.BLUE, "-"),
    "value": ("fresh pairs, chosen look", drawing.SKY, "--"),
}


def make(options: drawing.Options) -> Figure:
    records = runs.chosen_of(options.experiments, options.runs, ("information",))
    figure, row = drawing.subplots(
        1, len(records), figsize=(drawing.PAGE, 2.4), squeeze=False
    )  # fmt: skip
    for axes, record in zip(row[0], records, strict=True):
        table = record.tables["information"]
        truth, sizes = table["truth"].iloc[0], np.sort(table["study.samples"].unique())
        axes.axhline(truth, color="0.6")
        for column, (label, colour, style) in CURVES.items():
            values = drawing.by_seed(table, column, x="study.samples", seed="study.seed")
            drawing.mean_and_band(axes, sizes, values, colour=colour, label=label, linestyle=style)
        coordinates = record.config["study.dimension"]
        title = f"{coordinates} coordinate{'s' * (coordinates > 1)}"
        axes.set(xscale="log", xlabel="pairs $n$", ylim=(0, 2 * truth), title=title)
    row[0][0].set_ylabel("nats")
    row[0][-1].legend()
    return figure


main = drawing.main(__file__, __doc__, ",".join(EXPERIMENTS), make, __name__)
