"""Test accuracy and error of a network, of its linearisation and of its relaxed model.

Digits 2 and 3 by the number of training points; means and ranges over ten seeds. The relaxed model
is W -> M_1 W M_2 in the features of step 0, solved for; the network is the one these features are
of.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from ntkexp.scripts import drawing, runs

FIGURE = "ours"
# The last is a factor of the place, so that ranges do not lie on each other.
MODELS = (
    ("network", drawing.BLUE, 0.94),
    ("linearised", drawing.GREEN, 1.0),
    ("relaxed", drawing.VERMILION, 1.06),
)
TABLE = "relaxed_accuracy"


def make(options: drawing.Options) -> Figure:
    """The first experiment is needed, the second adds its sizes where it was run."""
    few, *larger = options.experiments
    records = [runs.one(few, options.runs, [TABLE])]
    for experiment in larger:
        records += runs.chosen(experiment, options.runs, [TABLE])[:1]
    return draw(runs.joined(records, [TABLE])[TABLE])


def draw(table: pd.DataFrame) -> Figure:
    figure, (left, right) = drawing.subplots(1, 2, figsize=(0.8 * drawing.PAGE, 2.4))
    for model, colour, beside in MODELS:
        of_model = table[table["model"] == model]
        for axes, column in ((left, "accuracy"), (right, "test_error")):
            values = of_model.pivot(index="seed", columns="n", values=column)
            place = values.columns.to_numpy() * beside
            axes.plot(place, values.mean(), "o-", color=colour, markersize=3, label=model)
            axes.vlines(place, values.min(), values.max(), color=colour, linewidth=0.8)
    sizes = sorted(table["n"].unique())
    for axes in (left, right):
        axes.set(xscale="log", xlabel="training points")
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes], rotation=45)
        axes.minorticks_off()
    left.set_ylabel("test accuracy")
    right.set_ylabel("test error")
    left.legend()
    drawing.letter_panels((left, right))
    return figure


main = drawing.main(__file__, __doc__, "adaptive/relaxed,adaptive/relaxed_large", make, __name__)
