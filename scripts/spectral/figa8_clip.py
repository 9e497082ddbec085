"""Figure A.8: the spectrum of networks that fit a delta function, for several bounds.

|f_k| over the target's, median of the networks, clipped to [0, 1], along training; 6 hidden
layers of 64 units. The bound is on the size of every parameter.
"""

from __future__ import annotations

from ntkexp.scripts import drawing
from ntkexp.scripts.spectral.delta_panels import spectra

FIGURE = "A.8"

main = drawing.main(__file__, __doc__, "spectral/delta_clip", spectra("optim.clip"), __name__)
