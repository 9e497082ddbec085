"""Figure 4.4: what it costs to compute factors and basis less often, on the auto-encoder of MNIST.

a, training loss over epochs and b, over processor time (of updates alone, measured apart), in nats
an image, from the first epoch on, for several numbers of updates from one computation to the next.
c, the distance from the spectrum of the empirical Fisher matrix of the fourth layer, on 5,000
images, to those of its approximations, over the norm of the former: the basis is computed once, at
the start.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.papers.curvature.claims.autoencoder import (
    AMORTISED,
    EXACT,
    KFAC,
    STEPS_PER_EPOCH,
    losses,
)
from ntkexp.papers.curvature.claims.seconds import SECONDS
from ntkexp.results.record import Record
from ntkexp.scripts import drawing, runs
from ntkexp.scripts.curvature.loss_panels import COLOURS, axis_of

FIGURE = "4.4"
PIXELS, IMAGES = 784, 60_000
SPECTRUM = "curvature/spectrum"
# Of the method at 50 updates and at others.
FAMILIES = {
    "KFAC": (KFAC, AMORTISED[0]),
    "EKFAC": (EXACT["EKFAC"], AMORTISED[1]),
    "EKFAC-ra": (EXACT["EKFAC-ra"], "curvature/amortised_ra"),
}
STYLES = {1: ":", 50: "-", 250: "--"}
LINES = {
    "kfac": ("KFAC", drawing.VERMILION, "-"),
    "kfac_traced": ("KFAC, right trace", drawing.VERMILION, "--"),
    "ekfac": ("EKFAC", drawing.BLUE, "-"),
    "running": ("EKFAC-ra", drawing.GREEN, "-"),
}


def make(options: drawing.Options) -> Figure:
    *trained, spectrum, seconds = options.experiments
    records = runs.chosen_of(trained, options.runs, ["evals"])
    (fixed, *_) = runs.needed(spectrum, options.runs, ["fisher_spectrum"])
    (timing, *_) = runs.needed(seconds, options.runs, ["update_seconds"])
    figure, axes = drawing.subplots(1, 3, figsize=(drawing.PAGE, 2.6))
    for method, experiments in FAMILIES.items():
        of_method = [run for run in records if run.experiment in experiments]
        along(axes[0], method, of_method)
        along(axes[1], method, of_method, timing.tables["update_seconds"])
    for panel, over in zip(axes, ("epoch", "minutes of a core"), strict=False):
        panel.set(xlabel=over, ylabel="training loss (nats)")
    table = fixed.tables["fisher_spectrum"].sort_values("step")
    epochs = table["step"] / STEPS_PER_EPOCH
    for column, (label, colour, style) in LINES.items():
        axes[2].plot(epochs, table[column] / table["norm"], style, color=colour, label=label)
    axes[2].set(xlabel="epoch", ylabel="distance of spectra / norm", yscale="log")
    for panel in axes[::2]:
        panel.legend()
    drawing.letter_panels([*axes])
    return figure


def along(
    axes: Axes, method: str, records: Sequence[Record], update_seconds: pd.DataFrame | None = None
) -> None:
    for period, style in STYLES.items():
        of_period = [run for run in records if run.config["optim.period"] == period]
        if of_period:
            curves = [losses(run.tables["evals"]) for run in of_period]
            x = axis_of(of_period[0], IMAGES, update_seconds)
            mean = PIXELS * np.mean([curve.to_numpy() for curve in curves], axis=0)
            axes.plot(x[1:], mean[1:], style, color=COLOURS[method], label=f"{method}, {period}")


EXPERIMENTS = [name for pair in FAMILIES.values() for name in pair] + [SPECTRUM, SECONDS]
main = drawing.main(__file__, __doc__, ",".join(EXPERIMENTS), make, __name__)
