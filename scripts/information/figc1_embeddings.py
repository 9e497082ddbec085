"""Figure C.1: codes of points of 25 Gaussians, a colour a Gaussian, by the encoders of Figure 5.6.

The circle holds 95 % of the prior.
"""

from __future__ import annotations

import math

import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from ntkexp.papers.information.claims.inference import LABELS, SEED, VARIANT
from ntkexp.scripts import drawing

FIGURE = "C.1"
SIDE = 3.5


def draw(points: pd.DataFrame) -> Figure:
    figure, row = drawing.subplots(
        1, len(LABELS), figsize=(drawing.PAGE, 2.3), sharex=True, sharey=True
    )  # fmt: skip
    of_seed = points[points[SEED] == points[SEED].min()]
    colours = mpl.colormaps["turbo"].resampled(25)
    for axes, (variant, label) in zip(row, LABELS.items(), strict=True):
        one = of_seed[of_seed[VARIANT] == variant]
        axes.scatter(one["code_x"], one["code_y"], s=1.5, c=one["mode"], cmap=colours, vmin=0,
                     vmax=24, rasterized=True)  # fmt: skip
        axes.add_patch(Circle((0, 0), math.sqrt(-2 * math.log(0.05)), fill=False, color="0.6"))
        axes.set(title=label, xlim=(-SIDE, SIDE), ylim=(-SIDE, SIDE), aspect="equal")
    return figure


main = drawing.main(
    __file__, __doc__, "information/inference", drawing.of_one_run(["inference_points"], draw),
    __name__,
)  # fmt: skip
