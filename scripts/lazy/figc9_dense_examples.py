"""Figure C.9: what a dense linear network of two layers learns first on the data of Figure 5.4.

Lines: alpha = 0.1; dashes: alpha = 10, in a black; thick: mean over five draws of the weights at
equal progress, thin: each of them. a, Example 1: the loss of every example against their mean. b,
label noise (Example 2), and c, a spurious feature (Example 3): the loss of the minority against
that of the majority. f_0 is kept, (5.2.4).
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.papers.lazy.claims.dense import HASTY, LAZY, example, groups, losses_of
from ntkexp.results.record import Record
from ntkexp.scripts import drawing, runs
from ntkexp.scripts.lazy.fig54_quadratic_examples import TITLES

FIGURE = "C.9"
STYLES = {HASTY: "-", LAZY: "--"}
COLOURS = {HASTY: drawing.BLUE, LAZY: drawing.VERMILION}


def make(options: drawing.Options) -> Figure:
    records = {example(r): r for r in runs.needed(options.experiment, options.runs, ["snapshot"])}
    figure, axes = drawing.subplots(1, 3, figsize=(drawing.PAGE, 2.8))
    for panel, number in zip(axes, (1, 2, 3), strict=True):
        if number not in records:
            panel.set_axis_off()
        elif number == 1:
            _each_example(panel, records[number])
        else:
            _groups(panel, records[number])
        panel.set_title(TITLES[number], loc="right")  # the letter is on the left
    lines = [
        axes[0].plot([], [], STYLES[alpha], color=COLOURS[alpha], label=f"α = {alpha:g}")[0]
        for alpha in STYLES
    ]
    figure.legend(handles=lines, loc="outside lower center", ncols=2)
    drawing.letter_panels(tuple(axes))
    return figure


def _each_example(axes: Axes, record: Record) -> None:
    shades = colormaps["viridis"]
    for alpha, seeds in _by_alpha(record).items():
        count = seeds[0].shape[1]
        for place in range(count):
            curves = [(losses.mean(axis=1), losses[place]) for losses in seeds]
            _curves(
                axes,
                curves,
                linestyle=STYLES[alpha],
                color=drawing.BLACK if alpha == LAZY else shades(0.9 * place / max(1, count - 1)),
                label=str(place + 1) if alpha == HASTY else None,
            )
    axes.set(xlabel="mean loss", ylabel="loss of an example")
    axes.invert_xaxis()
    axes.legend(title="example")


def _groups(axes: Axes, record: Record) -> None:
    for alpha, seeds in _by_alpha(record).items():
        curves = [groups(losses, int(record.config["data.q"])) for losses in seeds]
        _curves(axes, curves, linestyle=STYLES[alpha], color=COLOURS[alpha])
    axes.set(xlabel="loss of the majority", ylabel="loss of the minority", xlim=(0.5, 0))


def _by_alpha(record: Record) -> dict[float, list[pd.DataFrame]]:
    by_alpha: dict[float, list[pd.DataFrame]] = {}
    for alpha, _, losses in losses_of(record):
        by_alpha.setdefault(alpha, []).append(losses)
    return by_alpha


def _curves(axes: Axes, curves: list[tuple[pd.Series, pd.Series]], **look: object) -> None:
    """Each curve thin, and their mean over what all of them have seen."""
    thin = {key: value for key, value in look.items() if key != "label"}
    for x, y in curves:
        axes.plot(x, y, linewidth=0.4, alpha=0.5, **thin)  # type: ignore[arg-type]
    low, high = max(x.min() for x, _ in curves), min(x.max() for x, _ in curves)
    places = np.linspace(high, low, 200)
    rising = [(x.to_numpy()[::-1], y.to_numpy()[::-1]) for x, y in curves]
    means = np.mean([np.interp(places, x, y) for x, y in rising], axis=0)
    axes.plot(places, means, linewidth=1.4, **look)  # type: ignore[arg-type]


main = drawing.main(__file__, __doc__, "lazy/dense_examples", make, __name__)
