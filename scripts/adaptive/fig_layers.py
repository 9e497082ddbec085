"""What the layers of networks with least-squares targets do, beside Theorem 2's relaxed model.

a: each layer's share of the kernel's change; bars are means over seeds, lines from the least to the
most. b: correlation of what a layer adds to the outputs with sign(y), with y and with
sign(y) - alpha y, sign task. c: singular values of a layer's change over the largest, sign task,
mean over seeds: of the network (solid), of the relaxed model (dashed) and of the min-norm solution
(dotted).
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.scripts import drawing

TASK = "data.targets"
LAYERS = {"hidden1": "first", "hidden2": "second", "output": "last"}
BARS = (
    ("linear", "network", drawing.BLUE, "linear task"),
    ("sign", "network", drawing.ORANGE, "sign task"),
    ("linear", "relaxed", drawing.SKY, "linear, relaxed"),
    ("sign", "relaxed", drawing.YELLOW, "sign, relaxed"),
)
STYLES = {
    "network": ("-", "network"),
    "relaxed": ("--", "relaxed"),
    "min_norm": (":", "least norm"),
}
WIDTH = 0.2


def draw(layers: pd.DataFrame, added: pd.DataFrame, singular: pd.DataFrame) -> Figure:
    figure, (left, middle, right) = drawing.subplots(1, 3, figsize=(1.2 * drawing.PAGE, 2.5))
    shares(left, layers)
    correlations(middle, added[added[TASK] == "sign"])
    spectra(right, singular[singular[TASK] == "sign"])
    drawing.letter_panels((left, middle, right))
    return figure


def shares(axes: Axes, layers: pd.DataFrame) -> None:
    for index, (task, kind, colour, label) in enumerate(BARS):
        rows = layers[(layers[TASK] == task) & (layers["of"] == kind)]
        values = rows.pivot(index="seed", columns="layer", values="share")[list(LAYERS)]
        place = np.arange(len(LAYERS)) + WIDTH * (index - 1.5)
        axes.bar(place, values.mean(), WIDTH, color=colour, label=label)
        axes.vlines(place, values.min(), values.max(), color=drawing.BLACK, linewidth=0.8)
    name_layers(axes)
    axes.set_ylabel("share of the kernel's change")
    axes.legend()


def correlations(axes: Axes, layers: pd.DataFrame) -> None:
    for place, layer in enumerate(LAYERS):
        rows = layers[layers["layer"] == layer]
        for column, shape, fill, shift, label in (
            ("with_targets", "^", drawing.ORANGE, -0.2, "sign $y$"),
            ("with_linear", "o", drawing.ORANGE, 0.0, "$y$"),
            ("with_residual", "o", "none", 0.2, r"sign $y - \alpha y$"),
        ):
            axes.plot(
                *(np.full(len(rows), place + shift), rows[column], shape),
                color=drawing.ORANGE,
                markerfacecolor=fill,
                markersize=4,
                label=label if place == 0 else None,
            )
    name_layers(axes)
    axes.set(ylabel="correlation with", xlim=(-0.5, 2.5), ylim=(0, 1.2))
    axes.legend(loc="upper center", ncols=3, columnspacing=0.8, handletextpad=0.1)


def name_layers(axes: Axes) -> None:
    axes.set_xticks(range(len(LAYERS)), [f"{word} layer" for word in LAYERS.values()])


def spectra(axes: Axes, singular: pd.DataFrame) -> None:
    for layer, colour in (("hidden1", drawing.BLUE), ("hidden2", drawing.VERMILION)):
        for kind, (style, _) in STYLES.items():
            rows = singular[(singular["layer"] == layer) & (singular["of"] == kind)]
            values = rows.pivot(index="rank", columns="seed", values="value")
            mean = (values / values.loc[1]).mean(axis=1)
            label = f"{LAYERS[layer]} layer" if kind == "network" else None
            axes.plot(mean.index, mean, color=colour, linestyle=style, label=label)
    axes.set(xscale="log", yscale="log", xlabel="rank", ylabel="singular value over the largest")
    for style, word in STYLES.values():
        axes.plot([], [], color=drawing.BLACK, linestyle=style, label=word)
    axes.set_ylim(1e-3, 1.2)
    axes.legend(loc="lower left")


TABLES = ("relaxed_layers", "adapted_layers", "relaxed_singular_values")
main = drawing.main(
    __file__, __doc__, "adaptive/label_kernel", drawing.of_one_run(TABLES, draw), __name__
)
