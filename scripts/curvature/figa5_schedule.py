"""Figure A.5: KFAC and EKFAC-ra on a ResNet34 of 8 channels, the rate halved after 20 epochs.

Training loss over 40 epochs of CIFAR-10 with batches of 500 images; factors and basis are computed
every 500 updates.
"""

from __future__ import annotations

from ntkexp.papers.curvature.claims.resnet34 import SCHEDULES
from ntkexp.scripts import drawing
from ntkexp.scripts.curvature.figa4_schedule import make

FIGURE = "A.5"
main = drawing.main(__file__, __doc__, ",".join(SCHEDULES), make, __name__)
