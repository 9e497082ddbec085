"""How soon networks find 1.577 nats between x and z = k x + noise mod 1, by the number of turns k.

Left the held-out bound of one seed; dashed, networks that are given cos 2 pi k x and sin 2 pi k x.
Right the step at which half is found and the square of the gradient at the start, all seeds;
triangles at the last step never find it, open dots are given the wave. Grey: the linearised
network, k = 4.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.papers.information.numbers import hits
from ntkexp.scripts import drawing, runs

EXPERIMENTS = ("information/circle", "information/circle_linearised")
TABLES = ("information_looks", "information_start")
FREQUENCY, SEED = "study.frequency", "study.seed"


def make(options: drawing.Options) -> Figure:
    records = {r.experiment: r for r in runs.chosen_of(EXPERIMENTS, options.runs, TABLES)}
    figure, (left, right) = drawing.subplots(1, 2, figsize=(drawing.PAGE, 2.5))
    if EXPERIMENTS[0] in records:
        tables = records[EXPERIMENTS[0]].tables
        curves(left, tables["information_looks"])
        times(right, tables["information_looks"], tables["information_start"])
    if EXPERIMENTS[1] in records:
        looks = records[EXPERIMENTS[1]].tables["information_looks"]
        one = looks[looks[SEED] == looks[SEED].min()]
        left.plot(one["step"], one["held_out"], color="0.6", label="$k = 4$, linearised")
    left.set(xscale="log", xlabel="step", ylabel="held-out bound (nats)", ylim=(-0.1, 1.7))
    drawing.legend_above(figure, *left.get_legend_handles_labels())
    drawing.letter_panels((left, right))
    return figure


def curves(axes: Axes, looks: pd.DataFrame) -> None:
    frequencies = sorted(looks[FREQUENCY].unique())
    first = looks[(looks[SEED] == looks[SEED].min()) & (looks["step"] > 0)]
    for k, colour in zip(frequencies, drawing.shades(len(frequencies)), strict=True):
        for given, style in ((False, "-"), (True, "--")):
            one = first[(first[FREQUENCY] == k) & (first["study.given"] == given)]
            label = "" if given else f"$k = {k}$"
            axes.plot(one["step"], one["held_out"], style, color=colour, label=label)


def times(axes: Axes, looks: pd.DataFrame, start: pd.DataFrame) -> None:
    found = hits(looks).rename("hit").reset_index()
    both = found.merge(start, on=["study.given", FREQUENCY, SEED])
    frequencies = sorted(both[FREQUENCY].unique())
    last = looks["step"].max()
    for k, colour in zip(frequencies, drawing.shades(len(frequencies)), strict=True):
        for given in (False, True):
            one = both[(both[FREQUENCY] == k) & (both["study.given"] == given)]
            for never, marker in ((False, "o"), (True, "^")):
                part = one[(one["hit"] == last) == never]
                axes.plot(part["square"], part["hit"], marker, markersize=3, color=colour,
                          markerfacecolor="none" if given else colour)  # fmt: skip
    axes.set(xscale="log", yscale="log", ylabel="step at half the information")
    if (both["square"] <= 0).any():  # it is estimated from two halves of the pairs
        axes.set_xscale("symlog", linthresh=1e-3)
    axes.set_xlabel(r"$|\nabla V|^2$ at the start")


main = drawing.main(__file__, __doc__, ",".join(EXPERIMENTS), make, __name__)
