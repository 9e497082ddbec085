"""Figure 3.4: F v and F~ v: the cosine between them, along training.

Means over random directions with standard errors. Higher is better.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from ntkexp.scripts import drawing
from ntkexp.scripts.curvature.representation_panels import EXPERIMENTS, along_training

FIGURE = "3.4"


def value(rows: pd.DataFrame) -> pd.Series:
    found: pd.Series = rows["cosine"]
    return found


def make(options: drawing.Options) -> Figure:
    return along_training(options, "fisher_products", "cosine between F v and F~ v", value)


main = drawing.main(__file__, __doc__, EXPERIMENTS, make, __name__)
