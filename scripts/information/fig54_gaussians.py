"""Figure 5.4: densities of generators that learn 25 Gaussians, with MINE and without.

Estimated with a Gaussian kernel of width .1.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.scripts import drawing
from ntkexp.scripts.information.toy_panels import SIDE, figure_of

FIGURE = "5.4"
WIDTH, GRID = 0.1, 120


def draw(looks: pd.DataFrame, samples: pd.DataFrame) -> Figure:
    return figure_of("gaussians", looks, samples, show)


def show(axes: Axes, points: np.ndarray) -> None:
    side = np.linspace(-SIDE, SIDE, GRID)
    x, y = (np.exp(-(((side[:, None] - part) / WIDTH) ** 2) / 2) for part in points.T)
    axes.imshow(y @ x.T, origin="lower", extent=(-SIDE, SIDE, -SIDE, SIDE))


TABLES = ("gan_looks", "gan_samples")
main = drawing.main(
    __file__, __doc__, "information/toys", drawing.of_one_run(TABLES, draw), __name__
)
