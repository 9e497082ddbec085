"""Figure A.2: the training errors that belong to Figure 3.4, with its panels."""

from __future__ import annotations

from ntkexp.papers.spectral.claims.noisy_digits import WAVES
from ntkexp.scripts import drawing
from ntkexp.scripts.spectral.fig34_waves import curves

FIGURE = "A.2"

main = drawing.main(__file__, __doc__, ",".join(WAVES), curves("train", "training error"), __name__)
