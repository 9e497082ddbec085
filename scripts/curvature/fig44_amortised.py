"""Figure 4.4: what it costs to compute factors and basis less often, on the auto-encoder of MNIST.

a, training loss over epochs, in nats an image, for several numbers of updates from one computation
to the next. c, the distance from the spectrum of the empirical Fisher matrix of the fourth layer,
on 5,000 images, to those of its approximations, over the norm of the former: the basis is computed
once, at the start. The thesis' panel b, over seconds, is not drawn.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.papers.curvature.claims.autoencoder import (
    AMORTISED,
    EXACT,
    KFAC,
    STEPS_PER_EPOCH,
    losses,
)
from ntkexp.results.record import Record
from ntkexp.scripts import drawing, runs

FIGURE = "4.4"
PIXELS = 784
SPECTRUM = "curvature/spectrum"
# Of the method at 50 updates and at others.
FAMILIES = {
    "KFAC": (KFAC, AMORTISED[0]),
    "EKFAC": (EXACT["EKFAC"], AMORTISED[1]),
    "EKFAC-ra": (EXACT["EKFAC-ra"], "curvature/amortised_ra"),
}
COLOURS = dict(zip(FAMILIES, (drawing.VERMILION, drawing.BLUE, drawing.GREEN), strict=True))
STYLES = {1: ":", 50: "-", 250: "--"}
LINES = {
    "kfac": ("KFAC", drawing.VERMILION, "-"),
    "kfac_traced": ("KFAC, right trace", drawing.VERMILION, "--"),
    "ekfac": ("EKFAC", drawing.BLUE, "-"),
    "running": ("EKFAC-ra", drawing.GREEN, "-"),
}


def make(options: drawing.Options) -> Figure:
    *trained, spectrum = options.experiments
    records = runs.chosen_of(trained, options.runs, ["evals"])
    (fixed, *_) = runs.needed(spectrum, options.runs, ["fisher_spectrum"])
    figure, axes = drawing.subplots(1, 2, figsize=(drawing.PAGE, 2.6))
    for method, experiments in FAMILIES.items():
        along(axes[0], method, [run for run in records if run.experiment in experiments])
    axes[0].set(xlabel="epoch", ylabel="training loss (nats)", yscale="log")
    table = fixed.tables["fisher_spectrum"].sort_values("step")
    epochs = table["step"] / STEPS_PER_EPOCH
    for column, (label, colour, style) in LINES.items():
        axes[1].plot(epochs, table[column] / table["norm"], style, color=colour, label=label)
    axes[1].set(xlabel="epoch", ylabel="distance of spectra / norm", yscale="log")
    for panel, letter in zip(axes, "ac", strict=True):
        panel.legend()
        panel.set_title(letter, loc="left", fontweight="bold")
    return figure


def along(axes: Axes, method: str, records: Sequence[Record]) -> None:
    for period, style in STYLES.items():
        curves = [
            losses(run.tables["evals"]) for run in records if run.config["optim.period"] == period
        ]
        if curves:
            epochs = curves[0].index.to_numpy() / STEPS_PER_EPOCH
            mean = PIXELS * np.mean([curve.to_numpy() for curve in curves], axis=0)
            label = f"{method}, {period}"
            axes.plot(epochs, mean, style, color=COLOURS[method], label=label)


EXPERIMENTS = [name for pair in FAMILIES.values() for name in pair] + [SPECTRUM]
main = drawing.main(__file__, __doc__, ",".join(EXPERIMENTS), make, __name__)
