"""Figure A.8: the spectrum of networks that fit a delta function, for several bounds on
the parameters.

|f_k| over the target's, clipped to [0, 1], along training; 6 hidden layers of 64 units.
"""

from __future__ import annotations

import sys

from matplotlib.figure import Figure

from ntkexp.scripts import drawing
from ntkexp.scripts.spectral.delta_panels import spectra

FIGURE = "A.8"


def make(given: drawing.Options) -> Figure:
    return spectra(given, "optim.clip")


main = drawing.main(__file__, __doc__, "spectral/delta_clip", make)

if __name__ == "__main__":
    sys.exit(main())
