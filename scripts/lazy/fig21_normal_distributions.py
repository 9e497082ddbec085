"""Figure 2.1: four normal distributions, and what their distance is.

a, by their parameters: A and B are as far apart as C and D. b and c, by their densities, with the
interval of the central 95 %: those of A and B largely overlap, those of C and D hardly.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import norm

from ntkexp.scripts import drawing

FIGURE = "2.1"
COLOURS = dict(zip("ABCD", drawing.PALETTE, strict=False))


def draw(normals: pd.DataFrame, pairs: pd.DataFrame) -> Figure:
    figure, axes = drawing.subplots(1, 3, figsize=(drawing.PAGE, 2.2))
    by_name = normals.set_index("name")
    for _, pair in pairs.iterrows():
        both = by_name.loc[[pair["first"], pair["second"]]]
        axes[0].plot(both["mean"], both["variance"], color="grey", linewidth=0.6, zorder=0)
    for name, row in by_name.iterrows():
        axes[0].plot(row["mean"], row["variance"], "o", markersize=4, color=COLOURS[str(name)])
        axes[0].annotate(
            str(name),
            (row["mean"], row["variance"]),
            textcoords="offset points",
            xytext=(5, 3),
            color=COLOURS[str(name)],
        )
    axes[0].set(xlabel="mean", ylabel="variance", xlim=(-1, 1), ylim=(0, 2.3))
    for panel, (_, pair) in zip(axes[1:], pairs.iterrows(), strict=True):
        _densities(panel, by_name.loc[[pair["first"], pair["second"]]])
        panel.set_title(f"KL {pair['kl']:.2g} and {pair['kl_reversed']:.2g}")
    drawing.letter_panels(tuple(axes))
    return figure


def _densities(axes: Axes, both: pd.DataFrame) -> None:
    x = np.linspace(1.25 * both["low"].min(), 1.25 * both["high"].max(), 400)
    top = 0.0
    for name, row in both.iterrows():
        density = norm.pdf(x, row["mean"], np.sqrt(row["variance"]))
        axes.plot(x, density, color=COLOURS[str(name)], label=str(name))
        top = max(top, float(density.max()))
    for place, (name, row) in enumerate(both.iterrows()):
        height = -(0.06 + 0.06 * place) * top
        ends = [row["low"], row["high"]]
        axes.plot(ends, [height] * 2, "|-", color=COLOURS[str(name)], markersize=4)
    axes.set(xlabel="x", ylabel="density")
    axes.legend()


main = drawing.main(
    __file__,
    __doc__,
    "lazy/normal_distributions",
    drawing.of_one_run(["normals", "normal_pairs"], draw),
    __name__,
)
