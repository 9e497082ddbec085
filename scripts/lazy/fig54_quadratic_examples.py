"""Figure 5.4: what the quadratic model (lines) and its linearisation (dashes) learn first.

From the closed forms of George's thesis, section 5.4, as corrected. a, Example 1: the loss of every
example against their mean; the order is reversed. b, label noise (Example 2), and c, a spurious
feature (Example 3): the loss of the minority against that of the majority. Thin lines in b are
random bases of the modes that share one singular value: where the labels lie in two modes (green)
the order of the two regimes is the other way round. The dashes hardly know the basis.
"""

from __future__ import annotations

import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.scripts import drawing

FIGURE = "5.4"
STYLES = {"non_linear": "-", "linearised": "--"}
COLOURS = {"non_linear": drawing.BLUE, "linearised": drawing.VERMILION}
REVERSED = ("two_modes", "non_linear")
LABELS = {
    ("lapack", "non_linear"): "non-linear",
    ("lapack", "linearised"): "linearised",
    REVERSED: "non-linear, labels in two modes",
}
TITLES = {1: "Example 1", 2: "Example 2: label noise", 3: "Example 3: spurious feature"}


def draw(curves: pd.DataFrame) -> Figure:
    figure, axes = drawing.subplots(1, 3, figsize=(drawing.PAGE, 2.8))
    _each_example(axes[0], curves[curves["example"] == 1])
    for panel, example in zip(axes[1:], (2, 3), strict=True):
        _groups(panel, curves[curves["example"] == example])
    for panel, title in zip(axes, TITLES.values(), strict=True):
        panel.set_title(title, loc="right")  # the letter is on the left
    lines = dict(zip(*reversed(axes[1].get_legend_handles_labels()), strict=True))
    names = [name for name in LABELS.values() if name in lines]
    figure.legend([lines[name] for name in names], names, loc="outside lower center", ncols=3)
    drawing.letter_panels(tuple(axes))
    return figure


def _each_example(axes: Axes, curves: pd.DataFrame) -> None:
    names = sorted(curves["group"].unique(), key=int)
    shades = colormaps["viridis"]
    for regime, style in STYLES.items():
        rows = curves[curves["regime"] == regime]
        losses = rows.pivot(index="time", columns="group", values="loss").sort_index()
        for place, name in enumerate(names):
            shade = shades(0.9 * place / max(1, len(names) - 1))
            label = name if style == "-" else None
            axes.plot(losses.mean(axis=1), losses[name], style, color=shade, label=label)
    axes.set(xlabel="mean loss", ylabel="loss of an example")
    axes.invert_xaxis()
    axes.legend(title="example")


def _groups(axes: Axes, curves: pd.DataFrame) -> None:
    for (basis, _, regime), rows in curves.groupby(["basis", "draw", "regime"], sort=False):
        losses = rows.pivot(index="time", columns="group", values="loss").sort_index()
        drawn = basis == "rotation"
        axes.plot(
            losses["majority"],
            losses["minority"],
            STYLES[regime],
            color=drawing.GREEN if (basis, regime) == REVERSED else COLOURS[regime],
            linewidth=0.4 if drawn else 1.4,
            alpha=0.5 if drawn else 1.0,
            label=LABELS.get((basis, regime)),
        )
    axes.set(xlabel="loss of the majority", ylabel="loss of the minority", xlim=(0.5, 0))


main = drawing.main(
    __file__,
    __doc__,
    "lazy/quadratic_examples",
    drawing.of_one_run(["quadratic_curves"], draw),
    __name__,
)
