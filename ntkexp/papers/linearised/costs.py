"""The cost of each experiment, time of one core: kept runs measured, others reckoned from steps."""

from __future__ import annotations

from collections.abc import Callable

from ntkexp.claims.effort import Cost
from ntkexp.claims.horizon import Horizon

COSTS: dict[str, str | Callable[[str, Horizon], Cost]] = {
    "linearised/pairs_mlp": "14 minutes and 10 GB a seed",
    "linearised/pairs_mlp_mnist": "16 minutes and 13 GB",
    "linearised/pairs_mlp_extended": "12 minutes and 8 GB",
    "linearised/pairs_lenet": "16 minutes and 11 GB",
    "linearised/pairs_lenet_mnist": "20 minutes and 14 GB",
    "linearised/pairs_resnet18": "130 minutes for two",
    "linearised/mlp": "25 minutes for thirteen tasks",
    "linearised/mlp_linear": "32 minutes for thirteen tasks",
    "linearised/mlp_kernel": "13 minutes for four tasks",
    "linearised/mlp_seeds": "8 minutes a seed",
    "linearised/mlp_seeds_linear": "7 minutes a seed",
    "linearised/mlp_adam": "15 minutes",
    "linearised/mlp_adam_linear": "13 minutes",
    "linearised/mlp_mnist": "10 minutes",
    "linearised/mlp_mnist_linear": "10 minutes",
    "linearised/lenet": "27 minutes a task",
    "linearised/lenet_linear": "8 minutes",
    "linearised/lenet_kernel": "30 minutes a task",
    "linearised/lenet_adam": "27 minutes a task",
    "linearised/lenet_adam_linear": "4 minutes",
    "linearised/lenet_mnist": "30 minutes a task",
    "linearised/lenet_mnist_linear": "7 minutes",
    "linearised/resnet18": "2 hours for four tasks",
    "linearised/resnet18_linear": "30 minutes",
    "linearised/resnet18_late": "46 minutes",
    "linearised/resnet18_one": "31 minutes",
    "linearised/resnet18_one_linear": "24 minutes",
    "linearised/cifar2_mlp": "10 minutes",
    "linearised/cifar2_mlp_linear": "8 minutes",
    "linearised/cifar2_lenet": "55 minutes",
    "linearised/cifar2_lenet_linear": "4 minutes",
    "linearised/cifar2_resnet18": "2 hours",
    "linearised/cifar2_resnet18_linear": "24 minutes",
    "linearised/cifar2_resnet18_late": "46 minutes",
    "linearised/sizes_mlp": "7 minutes a seed",
    "linearised/sizes_mlp_linear": "6 minutes a seed",
    "linearised/sizes_steps": "a minute",
    "linearised/sizes_lenet": "70 minutes a seed",
    "linearised/sizes_lenet_linear": "5 minutes a seed",
    **{f"linearised/whose_{kind}": "8 minutes" for kind in ("extended", "seed", "lenet")},
    **{f"linearised/whose_{kind}_linear": "6 minutes" for kind in ("extended", "seed", "lenet")},
}
