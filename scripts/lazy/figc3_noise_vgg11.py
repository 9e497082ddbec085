"""Wrong labels in both regimes, VGG11: Figure 5.2 (bottom) with another network.

Panels as there.
"""

from __future__ import annotations

import sys

from matplotlib.figure import Figure

from ntkexp.scripts import drawing
from ntkexp.scripts.lazy.noise_panels import draw, note, records_of, rows

FIGURE = "C.3"


def make(options: drawing.Options) -> Figure:
    records = records_of(options)
    figure = draw(rows(records))
    note(figure, records)
    return figure


main = drawing.main(__file__, __doc__, "lazy/noise_vgg11,lazy/noise_vgg11_lazy", make)

if __name__ == "__main__":
    sys.exit(main())
