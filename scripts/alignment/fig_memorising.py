"""While VGG19 learns its labels by heart: no centring, and the labels before some were drawn.

A question of ours. Columns: runs of Figure 2 on few images that looked at the uncentred spectrum as
well, and end with every training label right. Rows: accuracy; largest
and mean eigenvalue and effective rank of the training kernel, centred by class (solid) and as it
is (dotted); CKA with the labels that the network is given, with the clean ones of the same images,
and with those of test images. At the left edge: iteration 0, a tick centred by class, a triangle as
it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ntkexp.results.record import Record
from ntkexp.results.select import has_fitted
from ntkexp.scripts import drawing, trained
from ntkexp.scripts.alignment.fig02_spectrum import EIGENVALUES, derived

EXPERIMENTS = "vgg19_clean,vgg19_noise20,vgg19_noise50"
TABLES = ("evals", "spectrum", "alignment")
CENTRINGS = {"class": "-", "none": ":"}
# At iteration 0: ticks to the right, triangles to the right.
MARKERS = {"-": 1, ":": 5}
BEGINNING = "left edge: iteration 0, tick centred by class, triangle not centred"
# (label, split, centring, colour, style)
LABELS = (
    ("given labels, train", "train", "class", drawing.BLACK, "-"),
    ("clean labels, train", "train", "clean", drawing.GREEN, "-"),
    ("test labels", "test", "class", drawing.BLACK, "--"),
)


def knows_few(record: Record) -> bool:
    """True if a run on few images came to know them all, and has the spectrum both centred and as
    it is."""
    looked = set(CENTRINGS) <= set(record.tables["spectrum"]["centring"])
    return looked and record.config.get("data.train_examples") is not None and has_fitted(record)


COUNTS = (knows_few,)


def draw(groups: Sequence[trained.SeedRuns], width: float = drawing.PAGE) -> Figure:
    figure, panels = drawing.subplots(
        4, len(groups), figsize=(width, 7.4), sharex="col", sharey="row", squeeze=False
    )
    for column, group in zip(panels.T, groups, strict=True):
        trained.accuracy(column[0], group.tables["evals"])
        spectrum = group.tables["spectrum"]
        for centring, style in CENTRINGS.items():
            rows = derived(spectrum[spectrum["centring"] == centring])
            of_spectrum(column[1], column[2], rows[rows["split"] == "train"], style)
        of_labels(column[3], group.tables["alignment"])
        trained.along_training(column, group)
        column[0].set_title(f"{group.heading}\n{group.config['data.train_examples']:,} images")
        column[-1].set_xlabel("iteration")
    names = ("accuracy", "eigenvalues, train", "effective rank, train", "CKA")
    for axes, name in zip(panels[:, 0], names, strict=True):
        axes.set_ylabel(name)
    panels[1, 0].set_yscale("log")
    panels[2, 0].set_ylim(bottom=0)
    panels[3, 0].set_ylim(bottom=0)
    panels[0, 0].legend(loc="lower right")
    lines = [Line2D([], [], color=colour, linestyle=style) for *_, colour, style in LABELS]
    panels[3, 0].legend(lines, [label for label, *_ in LABELS], loc="upper left")
    drawing.legend_above(figure, *kinds())
    trained.note(figure, groups, more=[f"CKA is centred by class; {BEGINNING}"])
    return figure


def of_spectrum(eigenvalues: Axes, ranks: Axes, rows: pd.DataFrame, style: str) -> None:
    for name, colour in EIGENVALUES[:2]:
        trained.curve(eigenvalues, rows, name, colour=colour, linestyle=style)
        trained.start(eigenvalues, rows, name, colour, marker=MARKERS[style])
    trained.curve(ranks, rows, "effective_rank", colour=drawing.BLACK, linestyle=style)
    trained.start(ranks, rows, "effective_rank", drawing.BLACK, marker=MARKERS[style])


def kinds() -> tuple[list[Line2D], list[str]]:
    lines = [Line2D([], [], color=colour) for _, colour in EIGENVALUES[:2]]
    lines += [Line2D([], [], color=drawing.BLACK, linestyle=style) for style in CENTRINGS.values()]
    names = [f"{name} eigenvalue" for name, _ in EIGENVALUES[:2]]
    return lines, [*names, "centred by class", "not centred"]


def of_labels(axes: Axes, alignment: pd.DataFrame) -> None:
    whole = alignment[(alignment["layer"] == "total") & (alignment["subset"] == "all")]
    for _, split, centring, colour, style in LABELS:
        rows = whole[(whole["split"] == split) & (whole["centring"] == centring)]
        if len(rows):
            trained.curve(axes, rows, "cka", colour=colour, linestyle=style)


main = drawing.main(
    __file__, __doc__, EXPERIMENTS, trained.Columns(TABLES, draw, counts=knows_few), __name__
)
