"""Figure 1's network with changes of weights of a rank, trained on signs to one training error.

Means and ranges over seeds; the last place is the network without a limit. a: cosine of its adapted
kernel with that of the unlimited network, with the initial and with its label kernel. b: mean
squared error on other points. c: epochs until the training error is below the common one.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.scripts import drawing

# The last is moved aside, so that ranges do not lie on each other.
COSINES = (
    ("cosine_full", "with the unlimited network's", drawing.BLUE, -0.06),
    ("cosine_initial", "with the initial kernel", drawing.GREEN, 0.06),
    ("cosine_label", "with the label kernel", drawing.VERMILION, 0.0),
)


def draw(table: pd.DataFrame) -> Figure:
    figure, (left, middle, right) = drawing.subplots(1, 3, figsize=(drawing.PAGE, 2.4))
    for column, label, colour, beside in COSINES:
        by_rank(left, table, column, colour, label, beside)
    by_rank(middle, table, "test_error", drawing.BLUE)
    by_rank(right, table, "epochs", drawing.BLUE)
    left.set(ylabel="cosine of the adapted kernel", ylim=(0, 1.05))
    middle.set(ylabel="test error", ylim=(0, None))
    right.set(ylabel="epochs", yscale="log")
    left.legend(loc="lower right")
    drawing.letter_panels((left, middle, right))
    return figure


def by_rank(
    axes: Axes,
    table: pd.DataFrame,
    column: str,
    colour: str,
    label: str | None = None,
    beside: float = 0.0,
) -> None:
    values = table.pivot(index="seed", columns="rank", values=column)
    ranks = [*sorted(rank for rank in values if rank), *([0] if 0 in values else [])]
    values, places = values[ranks], np.arange(len(ranks)) + beside
    axes.plot(places, values.mean(), "o", color=colour, markersize=3)
    # No line to the network without a limit, which is no rank between 16 and another.
    limited = slice(sum(rank > 0 for rank in ranks))
    axes.plot(places[limited], values.mean()[limited], color=colour, label=label)
    axes.vlines(places, values.min(), values.max(), color=colour, linewidth=0.8)
    axes.set_xticks(range(len(ranks)), [str(rank) if rank else "full" for rank in ranks])
    axes.set_xlabel("rank")


main = drawing.main(
    __file__, __doc__, "adaptive/low_rank", drawing.of_one_run(["low_rank"], draw), __name__
)
