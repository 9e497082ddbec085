"""As Figure 2, on digits.

The kernel is that of all 70,000 images of MNIST.
"""

from __future__ import annotations

from ntkexp.scripts import drawing
from ntkexp.scripts.linearised.task_panels import of_accuracies

FIGURE = "11"
EXPERIMENTS = (
    "linearised/mlp_mnist",
    "linearised/mlp_mnist_linear",
    "linearised/lenet_mnist",
    "linearised/lenet_mnist_linear",
)

main = drawing.main(__file__, __doc__, ",".join(EXPERIMENTS), of_accuracies, __name__)
