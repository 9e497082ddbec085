"""Figure 4.6: a ResNet34 of 8 channels on CIFAR-10 by KFAC, EKFAC-ra and SGD.

a, training loss over epochs, b, over processor time (of updates alone, one thread, measured apart
with all in turns), c, held-out error over epochs; all from the first look on. Factors and basis are
computed every 500 updates, without norms and from the weights of A.3; SGD has batch normalisation
and batches of 200 images, the others of 500. Rates and dampings are
the best of three points after eight epochs, SGD's rate the better of two.
"""

from __future__ import annotations

from matplotlib.figure import Figure

from ntkexp.papers.curvature.claims.resnet34 import METHODS, SECONDS
from ntkexp.scripts import drawing
from ntkexp.scripts.curvature.fig45_vgg11 import draw

FIGURE = "4.6"


def make(options: drawing.Options) -> Figure:
    return draw(options, METHODS)


main = drawing.main(__file__, __doc__, ",".join([*METHODS.values(), SECONDS]), make, __name__)
