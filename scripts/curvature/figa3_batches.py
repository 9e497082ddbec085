"""Figure A.3: KFAC and EKFAC-ra on a ResNet34 of 8 channels, by the size of their batches.

Training loss over epochs with batches of 200, 500 and 1,000 images of CIFAR-10. Factors and basis
are computed every 500 updates, so in 4 epochs with 200 images twice, else once.
"""

from __future__ import annotations

from ntkexp.papers.curvature.claims.resnet34 import BATCHES
from ntkexp.scripts import drawing
from ntkexp.scripts.curvature.figa1_batches import make

FIGURE = "A.3"
main = drawing.main(__file__, __doc__, BATCHES, make, __name__)
