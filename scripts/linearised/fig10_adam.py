"""As Figure 2, by Adam.

Dotted: accuracy on CIFAR2, by SGD.
"""

from __future__ import annotations

from ntkexp.scripts import drawing
from ntkexp.scripts.linearised.task_panels import of_accuracies

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

main = drawing.main(__file__, __doc__, ",".join(EXPERIMENTS), of_accuracies, __name__)
