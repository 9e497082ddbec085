"""Figure 5.3: samples of generators that learn a spiral, with MINE and without, beside the data."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.scripts import drawing
from ntkexp.scripts.information.toy_panels import figure_of

FIGURE = "5.3"


def draw(looks: pd.DataFrame, samples: pd.DataFrame) -> Figure:
    return figure_of("spiral", looks, samples, show)


def show(axes: Axes, points: np.ndarray) -> None:
    axes.plot(*points.T, ".", markersize=1, rasterized=True)


TABLES = ("gan_looks", "gan_samples")
main = drawing.main(
    __file__, __doc__, "information/toys", drawing.of_one_run(TABLES, draw), __name__
)
