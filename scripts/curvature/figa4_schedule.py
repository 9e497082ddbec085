"""Figure A.4: KFAC and EKFAC-ra on a VGG11 of 16 channels, the rate halved after 20 epochs.

Training loss over 40 epochs of CIFAR-10 with batches of 500 images; factors and basis are computed
every 500 updates. EKFAC-ra stands in for EKFAC, whose updates cost twice as much.
"""

from __future__ import annotations

from matplotlib.figure import Figure

from ntkexp.papers.curvature.claims.vgg11 import SCHEDULES
from ntkexp.scripts import drawing, runs
from ntkexp.scripts.curvature.loss_panels import by_size

FIGURE = "A.4"


def make(options: drawing.Options) -> Figure:
    trained = runs.chosen_of(options.experiments, options.runs, ["evals"])
    figure, axes = drawing.subplots(1, 1, figsize=(drawing.PAGE / 2, 2.8))
    by_size(axes, trained, "epoch")
    axes.legend()
    return figure


main = drawing.main(__file__, __doc__, ",".join(SCHEDULES), make, __name__)
