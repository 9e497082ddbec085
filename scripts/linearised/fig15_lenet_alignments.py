"""LeNet5's kernel before and after training on eigenfunctions of the first one.

Panels as in Figure 7.
"""

from __future__ import annotations

import sys

from matplotlib.figure import Figure

from ntkexp.scripts import drawing
from ntkexp.scripts.linearised.axis_panels import draw
from ntkexp.scripts.linearised.task_panels import records_of

FIGURE = "15"


def make(options: drawing.Options) -> Figure:
    return draw(records_of(options, ("function_alignment", "one_axis")), None)


main = drawing.main(__file__, __doc__, "linearised/lenet_kernel", make)

if __name__ == "__main__":
    sys.exit(main())
