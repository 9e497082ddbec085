"""How long and how far LeNet5 trains, by the eigenfunction it learns.

Panels as in Figure 3.
"""

from __future__ import annotations

import sys

from matplotlib.figure import Figure

from ntkexp.scripts import drawing
from ntkexp.scripts.linearised.task_panels import movements, records_of

FIGURE = "13"
EXPERIMENTS = (
    "linearised/lenet",
    "linearised/lenet_linear",
)


def make(options: drawing.Options) -> Figure:
    return movements(records_of(options, ("evals", "distance")))


main = drawing.main(__file__, __doc__, ",".join(EXPERIMENTS), make)

if __name__ == "__main__":
    sys.exit(main())
