"""How long and how far ResNet18 trains, by the eigenfunction it learns.

a, updates until the running mean of minibatch losses is .01 (none where that does not happen);
b, the distance of the weights from the first ones at the end; c, their cosine distance.
"""

from __future__ import annotations

import sys

from matplotlib.figure import Figure

from ntkexp.scripts import drawing
from ntkexp.scripts.linearised.task_panels import movements, records_of

FIGURE = "3"
EXPERIMENTS = (
    "linearised/resnet18",
    "linearised/resnet18_linear",
    "linearised/resnet18_one",
    "linearised/resnet18_one_linear",
)


def make(options: drawing.Options) -> Figure:
    return movements(records_of(options, ("evals", "distance")))


main = drawing.main(__file__, __doc__, ",".join(EXPERIMENTS), make)

if __name__ == "__main__":
    sys.exit(main())
