"""As Figure 2, by Adam.

Dotted: accuracy on CIFAR2, by SGD.
"""

from __future__ import annotations

import sys

from matplotlib.figure import Figure

from ntkexp.scripts import drawing
from ntkexp.scripts.linearised.task_panels import accuracies, records_of

FIGURE = "10"
EXPERIMENTS = (
    "linearised/mlp_adam",
    "linearised/mlp_adam_linear",
    "linearised/cifar2_mlp",
    "linearised/cifar2_mlp_linear",
    "linearised/lenet_adam",
    "linearised/lenet_adam_linear",
    "linearised/cifar2_lenet",
    "linearised/cifar2_lenet_linear",
)


def make(options: drawing.Options) -> Figure:
    return accuracies(records_of(options, ("evals",)))


main = drawing.main(__file__, __doc__, ",".join(EXPERIMENTS), make)

if __name__ == "__main__":
    sys.exit(main())
