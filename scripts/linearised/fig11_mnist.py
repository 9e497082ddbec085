"""As Figure 2, on digits.

The kernel is that of all 70,000 images of MNIST.
"""

from __future__ import annotations

import sys

from matplotlib.figure import Figure

from ntkexp.scripts import drawing
from ntkexp.scripts.linearised.task_panels import accuracies, records_of

FIGURE = "11"
EXPERIMENTS = (
    "linearised/mlp_mnist",
    "linearised/mlp_mnist_linear",
    "linearised/lenet_mnist",
    "linearised/lenet_mnist_linear",
)


def make(options: drawing.Options) -> Figure:
    return accuracies(records_of(options, ("evals",)))


main = drawing.main(__file__, __doc__, ",".join(EXPERIMENTS), make)

if __name__ == "__main__":
    sys.exit(main())
