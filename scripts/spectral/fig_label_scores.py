"""Figure 3.9 without training: accuracy beside how well the tangent kernel suits the labels.

A colour a frequency k, larger dots for more petals, means over networks; the score is the sum of
(u_j^T y)^2 log lambda_j, left of the first weights' kernel, right after 500 steps. The number
behind each k is Spearman's correlation of score and accuracy over the numbers of petals.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.claims.curves import rank_correlation
from ntkexp.papers.spectral.claims.petals import accuracies
from ntkexp.scripts import drawing, runs

L, K = "data.petals", "data.frequency"


def make(options: drawing.Options) -> Figure:
    record = runs.one(options.experiment, options.runs, ["evals", "label_score"])
    table, right = record.tables["label_score"], accuracies(record.tables["evals"])
    steps = sorted(table["step"].unique())
    figure, row = drawing.subplots(
        1, len(steps), figsize=(drawing.PAGE, 2.7), sharey=True, squeeze=False
    )
    for axes, step in zip(row[0], steps, strict=True):
        scores(axes, table[table["step"] == step], right)
        axes.set_title(f"step {step}")
    row[0][0].set_ylabel("training accuracy")
    numbers = ", ".join(map(str, sorted(table[L].unique())))
    drawing.note(figure, [f"from the smallest dots to the largest: L = {numbers}"])
    return figure


def scores(axes: Axes, table: pd.DataFrame, right: pd.DataFrame) -> None:
    means = table.pivot_table(index=K, columns=L, values="score")
    for k, colour in zip(means.index, drawing.PALETTE, strict=False):
        x, y = means.loc[k], right.loc[k]
        label = f"$k = {k}$: {rank_correlation(x, y):.2f}"
        axes.scatter(x, y, s=6 + 1.5 * means.columns, color=colour, label=label, alpha=0.8)
    axes.set_xlabel(r"$\sum_j (u_j^T y)^2 \log \lambda_j$")
    axes.legend(fontsize=6)


main = drawing.main(__file__, __doc__, "spectral/classes", make, __name__)
