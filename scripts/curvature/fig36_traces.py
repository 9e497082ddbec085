"""Figure 3.6: the trace of F~ beside that of F, along training.

Lower is better.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from ntkexp.scripts import drawing
from ntkexp.scripts.curvature.representation_panels import EXPERIMENTS, along_training

FIGURE = "3.6"


def value(rows: pd.DataFrame) -> pd.Series:
    found: pd.Series = (rows["trace"] / rows["exact"] - 1).abs()
    return found


def make(options: drawing.Options) -> Figure:
    return along_training(options, "fisher_traces", "relative difference of the trace", value)


main = drawing.main(__file__, __doc__, EXPERIMENTS, make, __name__)
