"""A small learning rate is not the lazy regime: α = 1 at several rates, and α = 100.

A row a network: a, accuracy on training examples with wrong labels, and b, on test examples,
against the loss of the training examples with right ones; c, three measures of linearity. Every
line is a network, and ends where its iterations do. The thesis has ResNet18 of 64 channels, here
stand an MLP and VGG11.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ntkexp.papers.lazy.curves import networks
from ntkexp.scripts import drawing
from ntkexp.scripts.lazy.noise_panels import (
    STYLES,
    TOLD,
    clean_axis,
    linearity,
    noted,
)

FIGURE = "C.1"
ROW = 2.4
COLOURS = {
    (1.0, 1e-2): ("α = 1, rate .01", drawing.BLUE),
    (1.0, 3e-3): ("α = 1, rate .003", drawing.BLACK),
    (1.0, 1e-4): ("α = 1, rate 1e-4", drawing.GREEN),
    (1.0, 1e-6): ("α = 1, rate 1e-6", drawing.ORANGE),
    (100.0, 1e-2): ("α = 100, rate .01 / α²", drawing.VERMILION),
}


def draw(by_row: Mapping[str, pd.DataFrame]) -> Figure:
    size = (drawing.PAGE, ROW * len(by_row) + 0.6)
    figure, grid = drawing.subplots(len(by_row), 3, figsize=size, squeeze=False)
    labelled: set[str] = set()
    for panels, (title, all_looks) in zip(grid, by_row.items(), strict=True):
        _row(panels, all_looks, labelled)
        panels[0].set_ylabel(f"{title}\naccuracy, noisy examples")
    lines = [
        Line2D([], [], color=colour, label=label)
        for label, colour in COLOURS.values()
        if label in labelled
    ]
    lines += [
        Line2D([], [], color="black", linestyle=style, label=f"c: {TOLD[name]}")
        for name, style in STYLES.items()
    ]
    figure.legend(handles=lines, loc="outside upper center", ncols=4)
    drawing.letter_panels(grid[0])
    return figure


def _row(panels: Sequence[Axes], all_looks: pd.DataFrame, labelled: set[str]) -> None:
    # From large to small rates: the least one, which has come least far, lies on top.
    for (_, alpha, lr, _), frame in sorted(networks(all_looks), key=lambda item: -item[0][2]):
        label, colour = _of(alpha, lr)
        for axes, column in zip(panels, ("noisy_known", "test_known"), strict=False):
            axes.plot(frame["clean"], frame[column], color=colour, linewidth=1.0)
        labelled.add(label)
        linearity(panels[2], [(frame, colour)])
    panels[1].set_ylabel("accuracy, test")
    for axes in panels:
        clean_axis(axes, all_looks)


def _of(alpha: float, lr: float) -> tuple[str, str]:
    for (a, rate), label_and_colour in COLOURS.items():
        if np.isclose(alpha, a) and np.isclose(lr, rate, rtol=1e-3, atol=0):
            return label_and_colour
    return f"α = {alpha:g}, rate {lr:g}", "0.5"


EXPERIMENTS = (
    *("lazy/noise_mlp", "lazy/noise_mlp_lazy", "lazy/rates_mlp"),
    *("lazy/noise_vgg11", "lazy/noise_vgg11_lazy", "lazy/rates_vgg11"),
)
main = drawing.main(__file__, __doc__, ",".join(EXPERIMENTS), noted(draw), __name__)
