"""Spurious attributes in three regimes: what is learned of images with and without them.

a, test accuracy, all pairs of label and attribute equally frequent, against training accuracy; b,
accuracy without against with the attribute on balanced training images; c, the same on test images.
Each curve is one network along training; all start alike, for α scales what is learned.
"""

from __future__ import annotations

from matplotlib.figure import Figure

from ntkexp.papers.lazy.spurious_curves import EXPERIMENTS, LIMITS
from ntkexp.scripts import drawing
from ntkexp.scripts.lazy.spurious_panels import draw, records_of

FIGURE = "5.3"


def make(options: drawing.Options) -> Figure:
    return draw(records_of(options))


main = drawing.main(__file__, __doc__, ",".join((*EXPERIMENTS, *LIMITS)), make, __name__)
