"""How often the thresholded targets have the class right, with the 95.2 % of appendix B.1 (line).

One dot a seed, in their order: the fit exactly and by SGD, on the 500 points it was made on and on
others.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ntkexp.scripts import drawing

PAPER = 0.952
COLUMNS = (
    ("least_squares", "train", "least squares,\nthe points"),
    ("sgd", "train", "SGD,\nthe points"),
    ("least_squares", "test", "least squares,\nothers"),
    ("sgd", "test", "SGD,\nothers"),
)


def draw(targets: pd.DataFrame) -> Figure:
    figure, axes = drawing.subplots(figsize=(drawing.COLUMN, 2.3))
    for place, (fit, split, _) in enumerate(COLUMNS):
        rows = targets[(targets["fit"] == fit) & (targets["split"] == split)]
        places = place + np.linspace(-0.2, 0.2, len(rows))
        axes.plot(places, rows["accuracy"], "o", color=drawing.BLUE, markersize=3)
    axes.axhline(PAPER, color=drawing.VERMILION, linewidth=0.8)
    axes.text(3.45, PAPER + 0.001, "95.2 %", color=drawing.VERMILION, ha="right", va="bottom")
    axes.set_xlim(-0.5, 3.5)
    axes.set_xticks(range(len(COLUMNS)), [label for *_, label in COLUMNS], fontsize=6)
    axes.set_ylabel("share of right classes")
    return figure


main = drawing.main(
    __file__, __doc__, "adaptive/targets", drawing.of_one_run(["threshold_targets"], draw), __name__
)
