"""Test accuracy of networks and of their linearisations on eigenfunctions of their kernel.

Labels are the signs of the j-th eigenfunction of the network's own tangent kernel at its
initialisation. Points are runs; those of the first seed are joined. Dotted: accuracy on two halves
of CIFAR-10's classes (CIFAR2), of ResNet18 with its residual branches on where that has been run.
"""

from __future__ import annotations

from ntkexp.scripts import drawing
from ntkexp.scripts.linearised.task_panels import of_accuracies

FIGURE = "2"
EXPERIMENTS = (
    "linearised/mlp",
    "linearised/mlp_linear",
    "linearised/mlp_seeds",
    "linearised/mlp_seeds_linear",
    "linearised/cifar2_mlp",
    "linearised/cifar2_mlp_linear",
    "linearised/lenet",
    "linearised/lenet_linear",
    "linearised/cifar2_lenet",
    "linearised/cifar2_lenet_linear",
    "linearised/resnet18",
    "linearised/resnet18_linear",
    "linearised/resnet18_standard",
    "linearised/resnet18_standard_linear",
    "linearised/cifar2_resnet18",
    "linearised/cifar2_resnet18_linear",
    "linearised/cifar2_resnet18_standard",
    "linearised/cifar2_resnet18_standard_linear",
)

main = drawing.main(__file__, __doc__, ",".join(EXPERIMENTS), of_accuracies, __name__)
