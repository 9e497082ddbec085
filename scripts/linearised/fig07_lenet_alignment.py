"""LeNet5's kernel before and after training on its 500th eigenfunction.

Alignment with each of the 1,000 leading eigenfunctions of the first kernel, on training images: at
both ends; its growth; and its growth over that of the kernel's trace. Triangle: the one trained on,
whose growth is the largest, while φ_1 has the largest α at either end.
"""

from __future__ import annotations

from matplotlib.figure import Figure

from ntkexp.scripts import drawing
from ntkexp.scripts.linearised.axis_panels import TABLES, draw
from ntkexp.scripts.linearised.task_panels import records_of

FIGURE = "7"


def make(options: drawing.Options) -> Figure:
    return draw(records_of(options, TABLES), (500,))


main = drawing.main(__file__, __doc__, "linearised/lenet_kernel", make, __name__)
