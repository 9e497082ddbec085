"""The route by which a linearised network is trained, and the reason for it.

Forward mode sees the network at every update; function space (stack.py) computes the kernel of the
training examples once, and then reads b c rows of n c numbers an update. So `auto` takes function
space where the kernels fit into memory and there are more updates than training examples, and for
the members of one run, which share kernels; there with the kernel on disk, where memory is too
small. Function space needs plain SGD, and images that nothing augments.

Factors (ntkexp/training/factors) are taken where `transform.route` says so: the gradients of one
output at all examples, for any optimiser of ntkexp's own.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from typing import Any

from ntkexp.config import TrainConfig
from ntkexp.data import Dataset
from ntkexp.data.images.options import Augment
from ntkexp.errors import UserError
from ntkexp.machine import available_bytes, free_gpu_bytes, on_gpu
from ntkexp.optim.sgd import Sgd
from ntkexp.training.factors.learner import FactorLearner
from ntkexp.training.function_space.learner import (
    FunctionLearner,
    FunctionLearnerOnDisk,
    evaluated,
    kernel_folder,
)
from ntkexp.training.learners.network import NetworkLearner
from ntkexp.training.prepared import NetworkOnData
from ntkexp.training.schedule import last_step
from ntkexp.training.supervised import MakeLearner, Supervised, batches_of
from ntkexp.transforms.linearise import Linearise, Route

LEARNERS: Mapping[Route, type[NetworkLearner | FunctionLearner]] = {
    Route.forward: NetworkLearner,
    Route.function: FunctionLearner,
    Route.disk: FunctionLearnerOnDisk,
    Route.factors: FactorLearner,
}
ROUTES: Mapping[str, MakeLearner] = {learner.route: learner for learner in LEARNERS.values()}
# The share of the free memory, and of the free disk, that kernels may take; the rest of the memory
# is for computing them.
SHARE_OF_MEMORY = SHARE_OF_DISK = 0.5


def work_of(
    prepared: NetworkOnData, *, one_of_many: bool = False
) -> tuple[Supervised, dict[str, Any]]:
    """The training work of a linearised network, and how its route was chosen, for the provenance.

    `one_of_many`: the network is a member of a run with many.
    """
    route, why = choose(prepared, one_of_many=one_of_many)
    about = {"taken": str(route), "because": why}
    return Supervised(prepared, ROUTES, LEARNERS[route].route), {"route": about}


def choose(prepared: NetworkOnData, *, one_of_many: bool = False) -> tuple[Route, str]:
    """The route that `transform.route` says, or for `auto` the one to take; and why."""
    config = prepared.config
    assert isinstance(config.transform, Linearise)
    wanted = config.transform.route
    obstacles = obstacles_to(prepared)
    if why := obstacles.get(wanted):
        raise UserError(f"transform.route={wanted}: {why}; expected auto or forward")
    if wanted is not Route.auto:
        return wanted, "as transform.route says"
    beyond_memory, beyond_disk = obstacles[Route.function], obstacles[Route.disk]
    if one_of_many and beyond_memory and not beyond_disk:
        return Route.disk, beyond_memory
    if beyond_memory:
        return Route.forward, beyond_memory
    if one_of_many:
        return Route.function, "many networks in one run"
    examples = len(prepared.dataset.train)
    if last_step(config.optim, batches_of(prepared).steps_per_epoch) > examples:
        return Route.function, "more updates than training examples"
    return Route.forward, "no more updates than training examples"


def obstacles_to(prepared: NetworkOnData) -> dict[Route, str | None]:
    """Why a run cannot be trained by a route, in function space with its kernels in memory or on
    disk, or on gradients; None where it can."""
    always = obstacle_to_function_space(prepared)
    return {
        Route.function: always or beyond_memory(prepared),
        Route.disk: always or beyond_disk(prepared),
        Route.factors: obstacle_to_factors(prepared),
    }


def obstacle_to_factors(prepared: NetworkOnData) -> str | None:
    """Why a run cannot be trained on the gradients of all examples, if it cannot."""
    outputs, dataset = prepared.objective.outputs, prepared.dataset
    if outputs != 1:
        return f"gradients are kept of one output, and there are {outputs}"
    if not dataset.sees_examples_as_they_are:
        return f"data={dataset.name} makes new examples at every step"
    return None


def obstacle_to_function_space(prepared: NetworkOnData) -> str | None:
    """Why a run cannot be trained in function space, if it cannot."""
    optim, dataset = prepared.config.optim, prepared.dataset
    if type(optim) is not Sgd:
        return f"optim={optim.name} is no gradient descent in function space"
    if optim.weight_decay:
        return f"optim.weight_decay={optim.weight_decay:g} decays weights, which it has none of"
    if dataset.stream is not None:
        return f"data={dataset.name} is a stream: its examples are new at every step"
    if dataset.augment is not Augment.none:
        return f"data.augment={dataset.augment} makes new examples at every step"
    return None


def beyond_memory(prepared: NetworkOnData) -> str | None:
    needed = kernel_bytes(prepared.config, prepared.dataset, prepared.objective.outputs)
    device = prepared.dataset.train.inputs.device
    room = free_gpu_bytes(device) if on_gpu(device) else available_bytes()
    return _too_much(needed, SHARE_OF_MEMORY * room, "of memory")


def beyond_disk(prepared: NetworkOnData) -> str | None:
    inputs = prepared.dataset.train.inputs
    if inputs.device.type != "cpu":
        return "kernels on disk are read by the processor"
    size = (len(inputs) * prepared.objective.outputs) ** 2 * inputs.element_size()
    folder = kernel_folder(prepared.config).absolute()
    existing = next(path for path in (folder, *folder.parents) if path.is_dir())
    # Kernels that are there count as free room: one may be this run's own, begun before.
    taken = sum(file.stat().st_size for file in folder.rglob("*.npy"))
    room = SHARE_OF_DISK * (shutil.disk_usage(existing).free + taken)
    return _too_much(size, room, "of disk")


def _too_much(needed_bytes: float, room_bytes: float, medium: str) -> str | None:
    if needed_bytes <= room_bytes:
        return None
    needed, room = needed_bytes / 2**30, room_bytes / 2**30
    return f"the kernels need {needed:.1f} GiB {medium}, and there are {room:.1f} for it"


def kernel_bytes(config: TrainConfig, dataset: Dataset, outputs: int) -> int:
    """The size of both kernels: train with train, and evaluated test with train."""
    rows = len(dataset.train) + evaluated(dataset.test, config.evaluate.test_examples)
    return rows * len(dataset.train) * outputs**2 * dataset.train.inputs.element_size()
