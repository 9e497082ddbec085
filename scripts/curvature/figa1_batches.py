"""Figure A.1: KFAC, EKFAC and EKFAC-ra on a VGG11 of 16 channels, by the size of their batches.

Training loss over epochs with batches of 200, 500 and 1,000 images of CIFAR-10. Factors and basis
are computed every 500 updates, so in 4 epochs with 200 images twice, else once.
"""

from __future__ import annotations

from matplotlib.figure import Figure

from ntkexp.papers.curvature.claims.vgg11 import BATCHES
from ntkexp.scripts import drawing, runs
from ntkexp.scripts.curvature.loss_panels import by_size

FIGURE = "A.1"


def make(options: drawing.Options) -> Figure:
    figure, axes = drawing.subplots(1, 1, figsize=(drawing.PAGE / 2, 2.8))
    by_size(axes, runs.needed(options.experiment, options.runs, ["evals"]), "epoch")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


main = drawing.main(__file__, __doc__, BATCHES, make, __name__)
