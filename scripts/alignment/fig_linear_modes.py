"""Linear regression learns its modes one by one (Propositions 7 and 9).

a: what is left to learn of some modes, measured (points) and predicted (lines). b: time constants
by eigenvalue: measured, -1 / log(1 - lambda_j / lambda_1), and the inverse that the paper prints.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.scripts import drawing

SHOWN = (1, 2, 5, 10, 19)
POINTS = 14
# Below this share of its start a mode is lost in rounding.
FLOOR = 1e-8


def draw(curves: pd.DataFrame, constants: pd.DataFrame) -> Figure:
    figure, (left, right) = drawing.subplots(1, 2, figsize=(drawing.PAGE, 2.8))
    residuals(left, curves)
    times(right, constants)
    drawing.letter_panels((left, right))
    drawing.note(figure, [f"one regression of {len(constants)} modes; learning rate 1 / λ₁"])
    return figure


def residuals(axes: Axes, curves: pd.DataFrame) -> None:
    modes = [mode for mode in SHOWN if mode in set(curves["mode"])]
    last = curves["step"].max()
    marked = np.unique(np.geomspace(1, last, POINTS).round())
    for mode, colour in zip(modes, drawing.shades(len(modes)), strict=True):
        curve = curves[(curves["mode"] == mode) & (curves["step"] > 0)].set_index("step")
        start = curves[(curves["mode"] == mode) & (curves["step"] == 0)].iloc[0]
        whole = abs(start["measured"] - start["target"])
        predicted = (curve["predicted"] - curve["target"]).abs() / whole
        measured = (curve["measured"] - curve["target"]).abs() / whole
        axes.plot(predicted.index, predicted, color=colour, label=f"$j = {mode + 1}$")
        points = measured[measured.index.isin(marked)]
        axes.plot(points.index, points, "o", color=colour, markersize=2.5)
    axes.set(yscale="log", ylim=(FLOOR, 2), ylabel=r"$|f_{jt} - f_j^*| / |f_{j0} - f_j^*|$")
    drawing.iteration_axis(axes, last, first=1)
    axes.legend(loc="lower left")


def times(axes: Axes, constants: pd.DataFrame) -> None:
    # The top mode is learned in its first iteration: no point on a log axis.
    others = constants[constants["mode"] > 0]
    shares = others["eigenvalue"] / constants["eigenvalue"].max()
    axes.plot(shares, others["predicted"], color=drawing.BLUE, label="corrected")
    axes.plot(shares, others["printed"], color=drawing.VERMILION, linestyle="--", label="printed")
    axes.plot(shares, others["measured"], "o", color=drawing.BLACK, markersize=3, label="measured")
    axes.set(xscale="log", yscale="log", xlabel=r"$\lambda_j / \lambda_1$")
    axes.set(ylabel=r"time constant $\tau_j$, iterations")
    axes.legend()


TABLES = ("linear_modes", "time_constants")
main = drawing.main(__file__, __doc__, "linear_modes", drawing.of_one_run(TABLES, draw), __name__)
