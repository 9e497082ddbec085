"""C-scores without training: what the tangent kernel gives for digits that are left out (ours).

2,000 digits of MNIST, 15 % with a wrong label, MLP 3 x 256, one seed. a, b, margins of
kernel regression on all other digits, with the kernel at the start and after training: output of
the given label less the largest other. P: the chance that a wrong label has a smaller margin than a
right one, mean over seeds. c, the two against one another.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import mannwhitneyu, spearmanr

from ntkexp.scripts import drawing, runs

TABLE = "leave_one_out"
COLOURS = {True: drawing.BLUE, False: drawing.VERMILION}
NAMES = {True: "right labels", False: "wrong labels"}


def make(options: drawing.Options) -> Figure:
    records = runs.needed(options.experiment, options.runs, [TABLE])
    return draw(runs.joined(records, [TABLE])[TABLE])


def draw(table: pd.DataFrame) -> Figure:
    table = table.assign(right=table["label"] == table["clean_label"])
    steps = sorted(table["step"].unique())
    first, last = steps[0], steps[-1]
    run = table[table["run"] == sorted(table["run"].unique())[0]]
    figure, (left, middle, right) = drawing.subplots(1, 3, figsize=(drawing.PAGE, 2.4))
    bins = np.linspace(run["margin"].min(), run["margin"].max(), 50)
    for axes, step, label in (
        (left, first, "at the start"),
        (middle, last, f"after {last:,} updates"),
    ):
        _histogram(axes, run[run["step"] == step], bins)
        chance = np.mean(
            [separation(rows) for _, rows in table[table["step"] == step].groupby("run")]
        )
        axes.set(xlabel=f"margin, kernel {label}", ylabel="digits")
        axes.text(
            0.03, 0.66, f"P(wrong < right)\n= {chance:.3f}", transform=axes.transAxes, fontsize=7
        )
    left.legend(loc="upper left")
    wide = run.pivot(index="example", columns="step", values="margin")
    marks = run[run["step"] == first].set_index("example")["right"]
    for kind, colour in COLOURS.items():
        rows = wide[marks == kind]
        right.plot(rows[first], rows[last], ".", color=colour, markersize=1.5)
    rho = spearmanr(wide[first], wide[last]).statistic
    right.set(xlabel="margin, kernel at the start", ylabel="margin, kernel after")
    right.text(0.03, 0.9, f"rank correlation {rho:.2f}", transform=right.transAxes, fontsize=7)
    drawing.letter_panels((left, middle, right))
    return figure


def separation(rows: pd.DataFrame) -> float:
    """The chance that a right label has a larger margin than a wrong one."""
    right, wrong = rows[rows["right"]]["margin"], rows[~rows["right"]]["margin"]
    return float(mannwhitneyu(right, wrong).statistic / (len(right) * len(wrong)))


def _histogram(axes: Axes, rows: pd.DataFrame, bins: np.ndarray) -> None:
    for kind, colour in COLOURS.items():
        of_kind = rows[rows["right"] == kind]
        axes.hist(of_kind["margin"], bins, color=colour, alpha=0.7, label=NAMES[kind])


main = drawing.main(__file__, __doc__, "lazy/left_out", make, __name__)
