"""Rademacher complexities of small linear classes against the paper's bounds.

a: complexity by all signs against its bound, for balls (10) and learning flows (12); no point lies
above the diagonal. b: their ratio by the number of examples, mean and band over seeds. c: the
margin loss of a multiclass ball: what sampled weights reach, Lemma 12 and Theorem 13.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ntkexp.scripts import drawing

CLASSES = (("ball (10)", drawing.BLUE, "o"), ("learning flow (12)", drawing.ORANGE, "s"))
MULTICLASS = (
    ("theorem_13", "Theorem 13", drawing.VERMILION),
    ("lemma_12", "Lemma 12", drawing.GREEN),
    ("sampled", "sampled weights", drawing.BLACK),
)


def draw(ball: pd.DataFrame, flow: pd.DataFrame, multiclass: pd.DataFrame) -> Figure:
    figure, panels = drawing.subplots(1, 3, figsize=(drawing.PAGE, 2.5))
    against_bound(panels[0], ball, flow)
    ratios(panels[1], ball, flow)
    margin_loss(panels[2], multiclass)
    drawing.letter_panels(panels)
    seeds = ball["seed"].nunique()
    drawing.note(
        figure, [f"{seeds} draws of features and metrics; b, c: {drawing.band_label(seeds)}"]
    )
    return figure


def against_bound(axes: Axes, *frames: pd.DataFrame) -> None:
    for frame, (label, colour, marker) in zip(frames, CLASSES, strict=True):
        axes.scatter(
            frame["bound"], frame["exact"], s=5, color=colour, marker=marker, label=label, lw=0
        )
    largest = max(frame["bound"].max() for frame in frames)
    axes.plot([0, largest], [0, largest], color=drawing.BLACK, linewidth=0.6)
    axes.set(xlabel="bound", ylabel="exact complexity", xlim=(0, None), ylim=(0, None))
    axes.legend(loc="upper left", handletextpad=0.1)


def ratios(axes: Axes, *frames: pd.DataFrame) -> None:
    for frame, (label, colour, _) in zip(frames, CLASSES, strict=True):
        shares = frame.assign(ratio=frame["exact"] / frame["bound"])
        sizes = np.sort(shares["n"].unique())
        values = drawing.by_seed(shares, "ratio", x="n")
        drawing.mean_and_band(axes, sizes, values, colour=colour, label=label)
    axes.axhline(1, color=drawing.BLACK, linewidth=0.6)
    lowest = axes.get_ylim()[0]
    axes.set(xlabel="examples $n$", ylabel="exact / bound", ylim=(1.5 * lowest - 0.5, None))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(loc="lower right")


def margin_loss(axes: Axes, multiclass: pd.DataFrame) -> None:
    sizes = np.sort(multiclass["n"].unique())
    for name, label, colour in MULTICLASS:
        values = drawing.by_seed(multiclass, name, x="n")
        drawing.mean_and_band(axes, sizes, values, colour=colour, label=label)
    axes.set(yscale="log", xlabel="examples $n$", ylabel="complexity of the margin loss")
    axes.legend(loc="center right")


TABLES = ("rademacher_linear", "rademacher_flow", "rademacher_multiclass")
main = drawing.main(__file__, __doc__, "rademacher", drawing.of_one_run(TABLES, draw), __name__)
