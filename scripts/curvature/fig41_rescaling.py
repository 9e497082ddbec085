"""Figure 4.1: what four preconditioners divide a gradient of two numbers by.

The grey figure is the Fisher matrix F: along a direction v it is as long as the root of v'Fv. Each
strategy divides along two axes, and its arrows are as long as the roots of its divisors. The exact
matrix has the longest and the shortest direction. The diagonal takes the axes of the parameters,
with the right lengths. KFAC's axes are nearer to those of F, but its arrows have other lengths than
the figure; EKFAC has the same axes and the right lengths.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ntkexp.scripts import drawing

FIGURE = "4.1"
TITLES = {"exact": "exact", "diagonal": "diagonal", "kfac": "KFAC", "ekfac": "EKFAC"}


def draw(rescaling: pd.DataFrame) -> Figure:
    figure, axes = drawing.subplots(
        1, 4, figsize=(drawing.PAGE, 1.9), sharex=True, sharey=True, subplot_kw={"aspect": 1}
    )
    by_strategy = dict(iter(rescaling.groupby("strategy", sort=False)))
    exact = by_strategy["exact"]
    directions = exact[["x", "y"]].to_numpy().T
    fisher = directions @ np.diag(exact["divisor"]) @ directions.T
    angles = np.linspace(0, 2 * np.pi, 400)
    circle = np.stack([np.cos(angles), np.sin(angles)])
    # An arrow of any basis that has the right scale ends on the curve v -> |v|_F v.
    lengths = np.sqrt(np.einsum("ia,ij,ja->a", circle, fisher, circle))
    for panel, colour, (name, title) in zip(axes, drawing.PALETTE, TITLES.items(), strict=False):
        panel.fill(*(lengths * circle), color="lightgrey", linewidth=0)
        for _, row in by_strategy[name].iterrows():
            for sign in (1, -1):
                end = sign * np.sqrt(row["divisor"]) * np.array([row["x"], row["y"]])
                panel.annotate(
                    "",
                    end,
                    (0, 0),
                    arrowprops={"arrowstyle": "->", "color": colour, "linewidth": 1.2},
                )
        panel.set(title=title, xticks=[], yticks=[])
    reach = 1.1 * lengths.max()
    axes[0].set(xlim=(-reach, reach), ylim=(-reach, reach))
    return figure


main = drawing.main(
    __file__,
    __doc__,
    "curvature/rescaling",
    drawing.of_one_run(["rescaling"], draw),
    __name__,
)
