"""Ours: EKFAC's damping, and what is learned first, with 15 % of MNIST's training labels wrong.

The training loss of images with wrong labels over that of the others, as both change along
training: means of three seeds at equal updates. With little damping all directions are learned
alike, with much of it the salient ones come first, as in descent.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from ntkexp.papers.curvature.claims.ours import NOISE
from ntkexp.scripts import drawing, runs


def make(options: drawing.Options) -> Figure:
    records = runs.needed(options.experiment, options.runs, ["evals"])
    figure, axes = drawing.subplots(1, 1, figsize=(drawing.PAGE / 2, 2.8))
    dampings = sorted({float(run.config["optim.damping"]) for run in records})
    for damping, colour in zip(dampings, drawing.PALETTE, strict=False):
        curves = [
            run.tables["evals"][run.tables["evals"]["split"] == "train"]
            for run in records
            if float(run.config["optim.damping"]) == damping
        ]
        means = pd.concat(curves).pivot_table(index="step", columns="subset", values="loss")
        axes.plot(means["intact"], means["noisy"], color=colour, label=f"damping {damping:g}")
    axes.set(xlabel="loss of true labels", ylabel="loss of wrong labels", xscale="log")
    axes.invert_xaxis()
    axes.legend()
    return figure


main = drawing.main(__file__, __doc__, NOISE, make, __name__)
