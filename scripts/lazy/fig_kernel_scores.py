"""C-scores without training, against those of many networks (ours).

2,000 digits of MNIST, MLP 3 x 256, one seed. Margin of kernel regression on all other digits,
output of the digit's class less the largest other, against the digit's C-score, a with the tangent
kernel at the start and b after training; and their rank correlation, mean over seeds. c, mean
margin of the tenths of the digits in order of their scores.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from ntkexp.papers.lazy.claims.left_out import TABLES, agreement, with_scores
from ntkexp.scripts import drawing, runs

FIGURE = "ours"
TENTHS = 10


def make(options: drawing.Options) -> Figure:
    records = runs.needed(options.experiment, options.runs, TABLES)
    tables = [with_scores(*(record.tables[name] for name in TABLES)) for record in records]
    steps = sorted(tables[0]["step"].unique())
    figure, panels = drawing.subplots(1, 3, figsize=(drawing.PAGE, 2.5))
    whens = ("at the start", f"after {steps[-1]:,} updates")
    for axes, step, when, colour in zip(panels, steps, whens, drawing.PALETTE, strict=False):
        first = tables[0][tables[0]["step"] == step].sort_values("score")
        axes.plot(first["score"], first["margin"], ".", color=colour, markersize=1.5)
        rho = np.mean([agreement(rows[rows["step"] == step]) for rows in tables])
        axes.text(0.03, 0.92, f"rank correlation {rho:.2f}", transform=axes.transAxes, fontsize=7)
        axes.set(xlabel="C-score", ylabel=f"margin, kernel {when}")
        low, high = axes.get_ylim()
        axes.set_ylim(low, high + 0.1 * (high - low))
        means = [part.mean() for part in np.array_split(first["margin"].to_numpy(), TENTHS)]
        panels[2].plot(range(1, TENTHS + 1), means, "o-", color=colour, markersize=3, label=when)
    panels[2].set(xlabel="tenth by C-score", ylabel="mean margin", xticks=[1, 4, 7, 10])
    panels[2].legend(loc="lower right", title="kernel")
    drawing.letter_panels(panels)
    return figure


main = drawing.main(__file__, __doc__, "lazy/left_out_scored", make, __name__)
