"""Figure 3.4: the error on held-out digits, where waves sin(k |x|) are added to the targets.

Mean squared distance from the true targets, mean over networks. a, b: amplitudes beta of the lowest
and of the highest wave. c, d: frequencies k at two amplitudes. e, f, ours: beside the wave as
printed the wave less its mean, and one along the first principal axis; beta = 1. A legend is of
both panels of its row. On these images the waves of k = 0.05 and 0.5 are mostly an offset; that of
0.5 is the top curve of c and d.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from ntkexp.papers.spectral.claims.noisy_digits import NOISES, WAVES, by_cell, errors
from ntkexp.scripts import drawing, runs

FIGURE = "3.4"
NAMES = {"beta": r"\beta", "k": "k"}


def curves(split: str, ylabel: str) -> drawing.Make:
    """Six panels of the errors of a split."""

    def make(options: drawing.Options) -> Figure:
        records = [runs.one(name, options.runs, ["evals"]) for name in WAVES]
        table = errors(by_cell(records, "evals"), split)
        k, beta = table.index.unique("k"), table.index.unique("beta")
        figure, rows = drawing.subplots(3, 2, figsize=(drawing.PAGE, 6), sharex=True, sharey=True)
        ends = (k.min(), k.max())
        chosen = [
            *({"noise": "radial", "k": value} for value in ends),
            *({"noise": "radial", "beta": value} for value in sorted(beta)[-2:]),
            *({"beta": beta.max(), "k": value} for value in ends),
        ]
        # Other things have other colours: amplitudes, frequencies, kinds.
        colours = (drawing.shades(len(beta)), drawing.PALETTE, ("0.6", drawing.SKY, drawing.BLACK))
        for number, (axes, fixed) in enumerate(zip(rows.flat, chosen, strict=True)):
            selected = table.xs(tuple(fixed.values()), level=[*fixed])
            panel(axes, selected, colours[number // 2])
            numbers = (f"${NAMES[key]} = {fixed[key]:.3g}$" for key in fixed if key in NAMES)
            axes.set_title(", ".join(numbers))
        for axes in rows[:, 0]:
            axes.set_ylabel(ylabel)
            axes.legend(fontsize=6)  # the right panels have the same curves
        for axes in rows[-1]:
            axes.set_xlabel("iteration")
        drawing.letter_panels(rows.flat)
        seeds = records[0].tables["evals"]["seed"].nunique()
        drawing.note(figure, [f"mean over {seeds} networks"])
        return figure

    return make


def panel(axes: Axes, rows: pd.DataFrame, colours: Sequence[Any]) -> None:
    for (value, curve), colour in zip(rows.iterrows(), colours, strict=False):
        name = rows.index.name
        label = NOISES.get(str(value)) or f"${NAMES[name]} = {value:.3g}$"
        axes.plot(curve.index, curve, color=colour, label=label)
    axes.set(yscale="log")
    low, high = axes.get_ylim()
    if high < 100 * low:  # decades alone would be one or two ticks
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 3)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter(NullFormatter())


main = drawing.main(
    __file__, __doc__, ",".join(WAVES), curves("test", "validation error"), __name__
)
