"""Figure 3: alignment of the tangent kernel with the labels along training.

The runs of Figure 2. Columns: experiments. Rows: accuracy; CKA of the whole kernel; CKA of each
layer's kernel on training examples; the same on test examples, layers coloured from input to
output. Solid lines: training examples, dashed lines: test examples. Kernels are centred by class.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure

from ntkexp.scripts import drawing, trained
from ntkexp.scripts.alignment.fig02_spectrum import EXPERIMENTS

FIGURE = "3"
TABLES = ("evals", "alignment")


def centred(group: trained.SeedRuns) -> pd.DataFrame:
    alignment = group.tables["alignment"]
    return alignment[(alignment["centring"] == "class") & (alignment["subset"] == "all")]


def numbers(group: trained.SeedRuns) -> pd.DataFrame:
    return trained.values(centred(group), cka="cka")


def draw(groups: Sequence[trained.SeedRuns], width: float = drawing.PAGE) -> Figure:
    figure, panels = drawing.subplots(
        4, len(groups), figsize=(width, 7.2), sharex="col", sharey="row", squeeze=False
    )
    titles = trained.titles(groups, [group.heading for group in groups])
    for column, group, title in zip(panels.T, groups, titles, strict=True):
        alignment = centred(group)
        trained.accuracy(column[0], group.tables["evals"])
        total(column[1], alignment)
        count = by_layer(column[2], alignment[alignment["split"] == "train"], trained.TRAIN)
        by_layer(column[3], alignment[alignment["split"] == "test"], trained.TEST)
        trained.along_training(column, group)
        column[0].set_title(title)
        column[-1].set_xlabel("iteration")
    names = ("accuracy", "CKA", "CKA by layer, train", "CKA by layer, test")
    for axes, name in zip(panels[:, 0], names, strict=True):
        axes.set_ylabel(name)
        axes.set_ylim(bottom=0)
    drawing.legend_above(figure, *panels[0, 0].get_legend_handles_labels())
    colours = ScalarMappable(Normalize(0.5, count + 0.5), ListedColormap(drawing.shades(count)))
    bar = figure.colorbar(colours, ax=panels[2:, :], aspect=24, pad=0.01)
    bar.set_ticks([1, count], labels=["input", "output"])
    bar.ax.set_ylabel("layer", labelpad=-12)
    trained.note(figure, groups, more=[trained.CENTRED])
    return figure


def total(axes: Axes, alignment: pd.DataFrame) -> None:
    whole = alignment[alignment["layer"] == "total"]
    for split, style in (("train", trained.TRAIN), ("test", trained.TEST)):
        part = whole[whole["split"] == split]
        trained.curve(axes, part, "cka", colour=drawing.BLACK, linestyle=style)


def by_layer(axes: Axes, alignment: pd.DataFrame, style: str) -> int:
    layers = list(trained.layers(alignment))
    for (_, part), colour in zip(layers, drawing.shades(len(layers)), strict=True):
        trained.curve(axes, part, "cka", colour=colour, linestyle=style, band=False, linewidth=0.9)
    return len(layers)


main = drawing.main(
    __file__, __doc__, EXPERIMENTS, trained.Columns(TABLES, draw, numbers, released=True), __name__
)
