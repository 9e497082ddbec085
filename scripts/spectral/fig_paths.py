"""How often paths stay in a class, beside straight lines, by the kinds of their ends.

Left: the share of all pairs; dots are the ten classes. Right: how much longer a path is than the
straight line, from the 10th to the 90th centile of the pairs, and the mean; grey: the text's 3.0 ±
0.3 %.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.scripts import drawing

BARS = {"line_stays": (drawing.ORANGE, "straight line"), "path_stays": (drawing.BLUE, "path")}
WIDTH = 0.35
TEXT = (2.7, 3.3)


def draw(paths: pd.DataFrame) -> Figure:
    figure, (left, right) = drawing.subplots(1, 2, figsize=(drawing.PAGE, 2.4))
    right.axhspan(*TEXT, color="0.8")
    kinds = {f"{kind}\n{len(of_kind):,} pairs": of_kind for kind, of_kind in paths.groupby("ends")}
    for place, of_kind in enumerate(kinds.values()):
        rates(left, place, of_kind)
        longer = 100 * (of_kind["length"] - 1)
        right.vlines(place, *longer.quantile([0.1, 0.9]), color=drawing.BLUE)
        right.plot(place, longer.mean(), "o", color=drawing.BLUE)
    for axes in (left, right):
        axes.set_xticks(range(len(kinds)), [label.replace(" and ", "\nand ") for label in kinds])
    left.set_ylabel("share that stays in the class")
    left.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
    right.set(ylabel="longer than the line, %", xlim=(-0.6, len(kinds) - 0.4))
    return figure


def rates(axes: Axes, place: int, paths: pd.DataFrame) -> None:
    for x, (column, (colour, label)) in zip((-0.5, 0.5), BARS.items(), strict=True):
        at = place + x * WIDTH
        axes.bar(at, paths[column].mean(), WIDTH, color=colour, label=None if place else label)
        of_class = paths.groupby("class")[column].mean()
        axes.plot([at] * len(of_class), of_class, ".", color="black", markersize=2)


main = drawing.main(
    __file__, __doc__, "spectral/paths", drawing.of_one_run(["image_paths"], draw), __name__
)
