"""Lemma 1 on a network that learns the disk: what one step does to each mode of the function.

a: measured against predicted change of every mode of every seed by a small step, magnitudes. b: the
part of the change that Lemma 1 leaves out against the learning rate; thin lines are seeds, thick
ones their median, dashed is slope two. Beyond the straight part the step moves units of the network
across their kinks.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.scripts import drawing

SMALL_STEP = 1e-4


def draw(modes: pd.DataFrame, errors: pd.DataFrame) -> Figure:
    figure, (left, right) = drawing.subplots(1, 2, figsize=(drawing.PAGE, 2.8))
    iterations = sorted(errors["iteration"].unique())
    colours = dict(zip(iterations, drawing.shades(len(iterations)), strict=True))
    by_mode(left, modes, colours)
    by_rate(right, errors, colours)
    drawing.letter_panels((left, right))
    seeds = errors["seed"].nunique()
    drawing.note(figure, [f"{seeds} networks; b: thin lines are networks, thick ones their median"])
    return figure


def by_mode(axes: Axes, modes: pd.DataFrame, colours: dict[int, tuple[float, ...]]) -> None:
    etas = modes["eta"].unique()
    eta = etas[np.abs(np.log(etas / SMALL_STEP)).argmin()]
    for iteration, colour in colours.items():
        chosen = modes[(modes["eta"] == eta) & (modes["iteration"] == iteration)]
        axes.scatter(
            chosen["predicted"].abs(),
            chosen["measured"].abs(),
            s=5,
            color=colour,
            lw=0,
            label=f"iteration {iteration}",
        )
    both = modes.loc[modes["eta"] == eta, ["predicted", "measured"]].abs()
    ends = [both.to_numpy().min(), both.to_numpy().max()]
    axes.plot(ends, ends, color=drawing.BLACK, linewidth=0.6, zorder=0)
    axes.set(xscale="log", yscale="log", ylabel=r"measured $|u_j^\top \delta f|$")
    axes.set(xlabel=rf"predicted $\eta \lambda_j |u_j^\top \nabla_f L|$, $\eta = {power(eta)}$")
    axes.legend(loc="upper left", handletextpad=0.1)


def by_rate(axes: Axes, errors: pd.DataFrame, colours: dict[int, tuple[float, ...]]) -> None:
    for iteration, colour in colours.items():
        chosen = errors[errors["iteration"] == iteration]
        table = chosen.pivot(index="eta", columns="seed", values="error")
        axes.plot(table.index, table, color=colour, linewidth=0.5, alpha=0.6)
        axes.plot(table.index, table.median(axis=1), color=colour, label=f"iteration {iteration}")
    etas = np.sort(errors["eta"].unique())
    start = errors[(errors["eta"] == etas[0]) & (errors["iteration"] == min(colours))]
    guide = start["error"].median() * (etas / etas[0]) ** 2 / 5
    axes.plot(etas, guide, color=drawing.BLACK, linestyle="--", linewidth=0.8, label="slope 2")
    axes.set(xscale="log", yscale="log", xlabel=r"learning rate $\eta$")
    axes.set(ylabel=r"$|\delta f - \delta f_{\mathrm{Lemma\ 1}}|$")
    axes.legend(loc="upper left")


def power(value: float) -> str:
    """A round number as LaTeX: 1e-4 is 10^{-4}."""
    mantissa, exponent = f"{value:.0e}".split("e")
    return (rf"{mantissa} \cdot " if mantissa != "1" else "") + f"10^{{{int(exponent)}}}"


TABLES = ("local_bias", "local_bias_error")
main = drawing.main(__file__, __doc__, "local_bias", drawing.of_one_run(TABLES, draw), __name__)
