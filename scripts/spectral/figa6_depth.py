"""Figure A.6: the spectrum of networks that fit a delta function, for several depths.

|f_k| over the target's, median of the networks, clipped to [0, 1], along training; width 16,
parameters of at most 10.
"""

from __future__ import annotations

from ntkexp.scripts import drawing
from ntkexp.scripts.spectral.delta_panels import spectra

FIGURE = "A.6"

main = drawing.main(__file__, __doc__, "spectral/delta_depth", spectra("model.depth"), __name__)
