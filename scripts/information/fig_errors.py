"""What MINE's estimates lack, and what they have too much: ours, for truths below 4 nats.

Up: the truth less the bound on a million fresh pairs, which is how far T is from the best one, KL(P
|| G). Down: the bound on the training pairs less that, which is what T learnt of the sample alone.
Mean over seeds, by the truth; left 10,000 pairs, right by their number.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.scripts import drawing, runs

BY_TRUTH = {"information/gaussians": drawing.BLUE, "information/gaussians_20": drawing.VERMILION,
            "information/equitability": drawing.GREEN}  # fmt: skip
BY_NUMBER = {"information/consistency": drawing.BLUE,
             "information/consistency_20": drawing.VERMILION}  # fmt: skip
LABELS = {"gaussians": "d = 1", "gaussians_20": "d = 20", "equitability": "noisy functions",
          "consistency": "d = 1", "consistency_20": "d = 20"}  # fmt: skip


def make(options: drawing.Options) -> Figure:
    records = runs.chosen_of(options.experiments, options.runs, ("information",))
    figure, (left, right) = drawing.subplots(1, 2, figsize=(drawing.PAGE, 2.4))
    for record in records:
        table = record.tables["information"].dropna(subset="population")
        label = LABELS[record.experiment.rpartition("/")[2]]
        if record.experiment in BY_TRUTH:
            parts(left, table, "truth", BY_TRUTH[record.experiment], label)
        else:
            parts(right, table, "study.samples", BY_NUMBER[record.experiment], label)
    for axes in (left, right):
        axes.axhline(0, color="0.6", linewidth=0.6)
        axes.legend()
    left.set(xlabel="mutual information (nats)", ylabel="nats")
    right.set(xlabel="pairs $n$", xscale="log")
    drawing.letter_panels((left, right))
    return figure


def parts(axes: Axes, table: pd.DataFrame, by: str, colour: str, label: str) -> None:
    if "study.objective" in table:
        table = table[table["study.objective"] == "mine"]
    split = pd.DataFrame(
        {
            by: table[by],
            "approximation": table["truth"] - table["population"],
            "estimation": table["population"] - table["train"],
        }
    )
    # A line for each function: which of two has more information says nothing of the other.
    functions = table["study.function"] if "study.function" in table else pd.Series("", table.index)
    for number, (_, rows) in enumerate(split.groupby(functions)):
        means = rows.groupby(by).mean()
        named = "" if number else label
        drawn = axes.plot(means.index, means["approximation"], "o-", label=named)
        drawn += axes.plot(means.index, means["estimation"], "o--")
        for line in drawn:
            line.set(color=colour, markersize=3)


main = drawing.main(__file__, __doc__, ",".join([*BY_TRUTH, *BY_NUMBER]), make, __name__)
