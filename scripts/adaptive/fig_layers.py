"""What the layers of Figure 1's networks do, beside the relaxed model of Theorem 2.

a: each layer's share of the kernel's change; bars are means over seeds, lines from the least to the
most. b: correlation of what a layer adds to the outputs with y (filled) and with sign(y) - alpha y
(open), sign task. c: singular values of a layer's change over the largest, sign task, mean over
seeds: of the network (solid), of the relaxed model (dashed) and of the min-norm solution (dotted).
"""

from __future__ import annotations

import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.scripts import drawing

TASK = "data.targets"
LAYERS = ("hidden1", "hidden2", "output")
BARS = (
    ("linear", "network", drawing.BLUE, "linear task"),
    ("sign", "network", drawing.ORANGE, "sign task"),
    ("linear", "relaxed", drawing.SKY, "linear, relaxed"),
    ("sign", "relaxed", drawing.YELLOW, "sign, relaxed"),
)
STYLES = {"network": "-", "relaxed": "--", "min_norm": ":"}
WIDTH = 0.2


def draw(layers: pd.DataFrame, singular: pd.DataFrame) -> Figure:
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(1.2 * drawing.PAGE, 2.5))
    shares(left, layers)
    correlations(middle, layers[(layers[TASK] == "sign") & (layers["of"] == "network")])
    spectra(right, singular[singular[TASK] == "sign"])
    drawing.letter_panels((left, middle, right))
    return figure


def shares(axes: Axes, layers: pd.DataFrame) -> None:
    for index, (task, kind, colour, label) in enumerate(BARS):
        own = layers[(layers[TASK] == task) & (layers["of"] == kind)]
        values = own.pivot(index="seed", columns="layer", values="share")[list(LAYERS)]
        place = np.arange(len(LAYERS)) + WIDTH * (index - 1.5)
        axes.bar(place, values.mean(), WIDTH, color=colour, label=label)
        axes.vlines(place, values.min(), values.max(), color=drawing.BLACK, linewidth=0.8)
    axes.set_xticks(range(len(LAYERS)), LAYERS)
    axes.set_ylabel("share of the kernel's change")
    axes.legend()


def correlations(axes: Axes, layers: pd.DataFrame) -> None:
    for place, layer in enumerate(LAYERS):
        own = layers[layers["layer"] == layer]
        for column, fill, shift in (
            ("with_linear", drawing.ORANGE, -0.12),
            ("with_residual", "none", 0.12),
        ):
            at = np.full(len(own), place + shift)
            axes.plot(
                at, own[column], "o", color=drawing.ORANGE, markerfacecolor=fill, markersize=4
            )
    axes.axhline(0.0, color=drawing.BLACK, linewidth=0.6)
    axes.set_xticks(range(len(LAYERS)), LAYERS)
    axes.set_ylabel("correlation")


def spectra(axes: Axes, singular: pd.DataFrame) -> None:
    for layer, colour in zip(LAYERS[:2], (drawing.BLUE, drawing.VERMILION), strict=True):
        for kind, style in STYLES.items():
            own = singular[(singular["layer"] == layer) & (singular["of"] == kind)]
            values = own.pivot(index="rank", columns="seed", values="value")
            mean = (values / values.loc[1]).mean(axis=1)
            label = layer if kind == "network" else None
            axes.plot(mean.index, mean, color=colour, linestyle=style, label=label)
    axes.set(xscale="log", yscale="log", xlabel="rank", ylabel="singular value over the largest")
    axes.set_ylim(1e-3, 1.2)
    axes.legend()


TABLES = ("relaxed_layers", "relaxed_singular_values")
main = drawing.main(__file__, __doc__, "adaptive/label_kernel", drawing.of_one_run(TABLES, draw))

if __name__ == "__main__":
    sys.exit(main())
