"""Figure A.4: the losses that belong to Figure 3.5.

Mean squared distance from the noised targets, which are trained on, and from the true ones, on the
same images: mean, least and most of the networks. A panel for each sigma over the median distance
of the images. Errors below 1e-3, to which those from the noised targets fall, are not drawn.
"""

from __future__ import annotations

from matplotlib.axes import Axes

from ntkexp.results.record import Record
from ntkexp.scripts import drawing
from ntkexp.scripts.spectral.fig35_generalised import of_widths
from ntkexp.scripts.spectral.heatmap import squared_error

FIGURE = "A.4"
TARGETS = {"train": (drawing.BLUE, "noised targets"), "test": (drawing.VERMILION, "true targets")}


def losses(axes: Axes, record: Record) -> None:
    for split, (colour, label) in TARGETS.items():
        squared_error(axes, record.tables["evals"], split, colour=colour, label=label)
    axes.set_ylim(1e-3, 1)


main = drawing.main(
    *(__file__, __doc__, "spectral/kernel_noise"),
    of_widths("evals", losses, "mean squared error"),
    __name__,
)
