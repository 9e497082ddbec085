"""Figure 3.5: v F~ v beside v F v, along training.

Means over random directions with standard errors. Lower is better.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from ntkexp.scripts import drawing
from ntkexp.scripts.curvature.representation_panels import EXPERIMENTS, along_training

FIGURE = "3.5"


def value(rows: pd.DataFrame) -> pd.Series:
    found: pd.Series = (rows["form"] - 1).abs()
    return found


def make(options: drawing.Options) -> Figure:
    return along_training(options, "fisher_products", "relative difference of v F v", value)


main = drawing.main(__file__, __doc__, EXPERIMENTS, make, __name__)
