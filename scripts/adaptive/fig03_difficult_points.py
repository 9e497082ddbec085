"""Figure 3: where the adapted kernel is large, for the networks of Figure 1.

a: the target sign(y) and the easy function y. b: what is left, sign(y) - alpha y, and the diagonal
of K - a K_0 - b K_label of seed 0 (crosses) over its largest size, on both tasks. c: K_ii of the
same networks. d: its mean over the fifth of the points nearest to y = 0, over that of the
farthest, every seed.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.scripts import drawing

FIGURE = "3"
TASK = "data.targets"
COLOURS = {"linear": drawing.BLUE, "sign": drawing.ORANGE}


def draw(examples: pd.DataFrame, fifths: pd.DataFrame) -> Figure:
    figure, panels = drawing.subplots(1, 4, figsize=(1.25 * drawing.PAGE, 2.3))
    first = examples[examples["seed"] == examples["seed"].min()]
    sign = first[first[TASK] == "sign"]
    targets(panels[0], sign)
    residual(panels[1], first)
    for task, colour in COLOURS.items():
        rows = first[first[TASK] == task]
        panels[2].plot(rows["linear"], rows["average"], ".", color=colour, markersize=2, label=task)
    panels[2].set(xlabel="$y$", ylabel="$K_{ii}$", ylim=(0, 1.25 * first["average"].max()))
    panels[2].legend(
        markerscale=3, loc="upper center", ncols=2, columnspacing=0.8, handletextpad=0.1
    )
    ratios(panels[3], fifths[fifths["statistic"] == "diagonal"])
    drawing.letter_panels(panels)
    return figure


def targets(axes: Axes, sign: pd.DataFrame) -> None:
    axes.plot(sign["linear"], sign["target"], color=drawing.GREEN, label="sign $y$")
    axes.plot(sign["linear"], sign["linear"], ":", color=drawing.BLACK, label="$y$")
    axes.set(xlabel="$y$", ylabel="target")
    axes.legend()


def residual(axes: Axes, examples: pd.DataFrame) -> None:
    for task, colour in COLOURS.items():
        rows = examples[examples[TASK] == task]
        kernel = rows["remainder"] / rows["remainder"].abs().max()
        axes.plot(rows["linear"], kernel, "x", color=colour, markersize=2, label=task)
    y = np.sort(rows["linear"].to_numpy(dtype=float))
    alpha = np.abs(y).sum() / (y @ y)
    left = np.sign(y) - alpha * y
    axes.plot(y, left / np.abs(left).max(), "--", color=drawing.VERMILION, label="residual")
    axes.set(xlabel="$y$", ylabel="share of the largest", ylim=(-1.1, 1.8))
    axes.legend(loc="upper center", ncols=2, columnspacing=0.8, handletextpad=0.3)


def ratios(axes: Axes, fifths: pd.DataFrame) -> None:
    for task, colour in COLOURS.items():
        rows = fifths[fifths[TASK] == task].sort_values("seed")
        axes.plot(
            rows["seed"], rows["low"] / rows["high"], "o", color=colour, markersize=4, label=task
        )
    axes.axhline(1.0, color=drawing.BLACK, linewidth=0.6)
    axes.set(xlabel="seed", ylabel="mean $K_{ii}$, near 0 over far", ylim=(0.95, 2.05))
    axes.legend(loc="upper center", ncols=2, columnspacing=0.8, handletextpad=0.1)


TABLES = ("adapted_examples", "adapted_fifths")
main = drawing.main(
    __file__, __doc__, "adaptive/label_kernel_sgd", drawing.of_one_run(TABLES, draw), __name__
)
