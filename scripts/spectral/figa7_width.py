"""Figure A.7: the spectrum of networks that fit a delta function, for several widths.

|f_k| over the target's, median of the networks, clipped to [0, 1], along training; 3 hidden
layers, parameters of at most 10. Width 16 is the first panel of Figure A.6.
"""

from __future__ import annotations

from ntkexp.scripts import drawing
from ntkexp.scripts.spectral.delta_panels import spectra

FIGURE = "A.7"

main = drawing.main(
    __file__,
    __doc__,
    "spectral/delta_depth,spectral/delta_width",
    spectra("model.width", only={"model.depth": 3}),
    __name__,
)
