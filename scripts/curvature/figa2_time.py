"""Figure A.2: the size of the batches of KFAC, EKFAC and EKFAC-ra, over updates and over time.

Training losses of a VGG11 of 16 channels with batches of 200, 500 and 1,000 images of CIFAR-10: a,
over updates, b, over processor time (of updates alone, one thread, measured apart with all in
turns). Factors and basis are computed every 500 updates.
"""

from __future__ import annotations

from matplotlib.figure import Figure

from ntkexp.papers.curvature.claims.vgg11 import BATCHES, SECONDS
from ntkexp.scripts import drawing, runs
from ntkexp.scripts.curvature.loss_panels import by_size

FIGURE = "A.2"


def make(options: drawing.Options) -> Figure:
    batches, seconds = options.experiments
    trained = runs.needed(batches, options.runs, ["evals"])
    (timing, *_) = runs.needed(seconds, options.runs, ["update_seconds"])
    figure, axes = drawing.subplots(1, 2, figsize=(drawing.PAGE, 2.8))
    by_size(axes[0], trained, "update")
    by_size(axes[1], trained, "minutes of a core", timing.tables["update_seconds"])
    axes[1].legend(loc="center left", bbox_to_anchor=(1, 0.5))
    drawing.letter_panels([*axes])
    return figure


main = drawing.main(__file__, __doc__, ",".join([BATCHES, SECONDS]), make, __name__)
