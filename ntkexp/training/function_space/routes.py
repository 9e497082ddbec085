"""By which route a linearised network is trained, and why.

Forward mode sees the network at every update; function space (stack.py) computes its kernel once
and then reads b c rows of n c numbers an update. With B the multiplications of a forward of one
example, P the parameters, N = n c and M the same of the test examples that are evaluated, on one
core:

    forward mode     10 b B flops an update (two forwards, two backwards and a half), and the
                     starting of operations
    function space   8 b c N bytes an update;  once (1 + c) 6 B flops an example of both sets for
                     the features, and 2 N (N + M) G flops for the products, G being the numbers
                     that stand for a layer's gradient: inputs / c^2 + outputs where it is linear,
                     at most all its weights where it is a convolution

Where the kernels exceed memory that of the training examples lies on disk, T tiles long: its
features are made (T + 1) / 2 times, its 4 N^2 bytes are written and read twice before the first
update, and an update reads its 4 b c N bytes from there. Test examples then go through the network.

Rates are of one thread of a present-day core; both routes gain alike by more of them, so only the
comparison counts, and where it is close either will do. What is kept and shared decides beyond
that: function space needs room for its kernels, plain SGD, and images that nothing augments.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn
from torch.nn.modules.conv import _ConvNd

from ntkexp.config import TrainConfig
from ntkexp.data import Dataset
from ntkexp.data.batches import Batches
from ntkexp.data.images.options import Augment
from ntkexp.errors import UserError
from ntkexp.machine import available_bytes, free_gpu_bytes, on_gpu
from ntkexp.optim.sgd import Sgd
from ntkexp.tangent.tiles import MOST_EXAMPLES
from ntkexp.training.function_space.learner import (
    FunctionLearner,
    FunctionLearnerOnDisk,
    evaluated,
    kernel_folder,
)
from ntkexp.training.learners.network import NetworkLearner
from ntkexp.training.prepared import Prepared
from ntkexp.training.schedule import last_step
from ntkexp.training.supervised import MakeLearner, Supervised
from ntkexp.transforms.linearise import Linearise, Linearised, Route

ROUTES: Mapping[str, MakeLearner] = {
    NetworkLearner.route: NetworkLearner,
    FunctionLearner.route: FunctionLearner,
    FunctionLearnerOnDisk.route: FunctionLearnerOnDisk,
}
NAMES = {
    Route.forward: NetworkLearner.route,
    Route.function: FunctionLearner.route,
    Route.disk: FunctionLearnerOnDisk.route,
}
FLOPS_A_SECOND = 50e9
BYTES_A_SECOND = 10e9
BYTES_A_SECOND_ON_DISK = 5e8  # in rows
SECONDS_A_LAYER = 1e-4  # to start its operations, forward and back
SECONDS_AN_UPDATE = 1e-4  # the same for all of function space
# Of the memory that is free; the rest is for computing the kernels. The same of the disk.
SHARE_OF_MEMORY = SHARE_OF_DISK = 0.5


@dataclass(frozen=True)
class Choice:
    """A route, and what the run's provenance says about the choice."""

    route: str
    about: Mapping[str, Any]


def work_of(prepared: Prepared, *, one_of_many: bool = False) -> tuple[Supervised, dict[str, Any]]:
    """The training work of one network, and how its route was chosen. `one_of_many`: the
    network is a member of a run with many."""
    if not isinstance(prepared.model, Linearised):
        return Supervised(prepared), {}
    choice = choose(prepared, one_of_many=one_of_many)
    return Supervised(prepared, ROUTES, choice.route), {"route": dict(choice.about)}


def choose(prepared: Prepared, *, one_of_many: bool = False) -> Choice:
    """What `transform.route` says, or for `auto` what costs less; many in one run need the second
    way."""
    config = prepared.config
    assert isinstance(config.transform, Linearise)
    wanted = config.transform.route
    obstacles = obstacles_to(prepared)
    if why := obstacles.get(wanted):
        raise UserError(f"transform.route={wanted}: {why}; expected auto or forward")
    if wanted is not Route.auto:
        return _chosen(wanted, "as transform.route says")
    beyond = obstacles[Route.function]
    space = Route.function if beyond is None else Route.disk
    if (why := obstacles[space]) is not None:
        return _chosen(Route.forward, " and ".join(dict.fromkeys((str(beyond), why))))
    if one_of_many:
        return _chosen(space, "many networks in one run" if beyond is None else beyond)
    costs = seconds(config, prepared.dataset, prepared.model, prepared.objective.outputs)
    costs = {name: cost for name, cost in costs.items() if name in (Route.forward, space)}
    cheaper = space if costs[space] <= costs[Route.forward] else Route.forward
    because = "of the two estimates the smaller"
    return _chosen(cheaper, because if beyond is None else f"{because}: {beyond}", costs)


def _chosen(route: Route, why: str, costs: Mapping[str, float] | None = None) -> Choice:
    about: dict[str, Any] = {"taken": str(route), "because": why}
    if costs is not None:
        about["estimated_seconds"] = {name: round(cost, 3) for name, cost in costs.items()}
    return Choice(NAMES[route], about)


def obstacles_to(prepared: Prepared) -> dict[Route, str | None]:
    """Why a run cannot be trained in function space with its kernels in memory, or on disk."""
    always = obstacle_to_function_space(prepared)
    return {
        Route.function: always or beyond_memory(prepared),
        Route.disk: always or beyond_disk(prepared),
    }


def obstacle_to_function_space(prepared: Prepared) -> str | None:
    """Why a run cannot be trained in function space, if it cannot."""
    optim, dataset = prepared.config.optim, prepared.dataset
    if not isinstance(optim, Sgd):
        return f"optim={optim.name} is no gradient descent in function space"
    if optim.weight_decay:
        return f"optim.weight_decay={optim.weight_decay:g} decays weights, which it has none of"
    if dataset.stream is not None:
        return f"data={dataset.name} is a stream: its examples are new at every step"
    if dataset.augment is not Augment.none:
        return f"data.augment={dataset.augment} makes new examples at every step"
    for name, probe in prepared.probes.items():
        if hidden := probe.needs & FunctionLearner.hides:
            return f"probe.{name} looks at {', '.join(sorted(hidden))} of the weights"
    return None


def beyond_memory(prepared: Prepared) -> str | None:
    needed = kernel_bytes(prepared.config, prepared.dataset, prepared.objective.outputs)
    device = prepared.dataset.train.inputs.device
    room = free_gpu_bytes(device) if on_gpu(device) else available_bytes()
    return _too_much(needed, SHARE_OF_MEMORY * room, "of memory")


def beyond_disk(prepared: Prepared) -> str | None:
    inputs = prepared.dataset.train.inputs
    if inputs.device.type != "cpu":
        return "kernels on disk are read by the processor"
    size = (len(inputs) * prepared.objective.outputs) ** 2 * inputs.element_size()
    folder = kernel_folder(prepared.config).absolute()
    there = next(one for one in (folder, *folder.parents) if one.is_dir())
    # What kernels have taken may be this one's, begun before.
    taken = sum(file.stat().st_size for file in folder.rglob("*.npy"))
    room = SHARE_OF_DISK * (shutil.disk_usage(there).free + taken)
    return _too_much(size, room, "of disk")


def _too_much(needed_bytes: float, room_bytes: float, what: str) -> str | None:
    if needed_bytes <= room_bytes:
        return None
    needed, room = needed_bytes / 2**30, room_bytes / 2**30
    return f"the kernels need {needed:.1f} GiB {what}, and there are {room:.1f} for it"


def kernel_bytes(config: TrainConfig, dataset: Dataset, outputs: int) -> int:
    """Of the kernels that are held: train with train, and evaluated test with train."""
    rows = len(dataset.train) + evaluated(dataset.test, config.evaluate.test_examples)
    return rows * len(dataset.train) * outputs**2 * dataset.train.inputs.element_size()


def seconds(
    config: TrainConfig, dataset: Dataset, model: nn.Module, outputs: int
) -> dict[str, float]:
    """What the routes are estimated to take, but for the looks."""
    n, shape = len(dataset.train), dataset.input_shape
    m = evaluated(dataset.test, config.evaluate.test_examples)
    batches = Batches(n, config.optim.batch_size, config.seed)
    steps = last_step(config.optim, batches.steps_per_epoch)
    batch = min(n, config.optim.batch_size or n)
    size = sum(w.numel() for w in model.parameters())
    forward = config.model.multiplications(shape, outputs) or size
    layers = [module for module in model.modules() if isinstance(module, nn.Linear | _ConvNd)]
    N, M = n * outputs, m * outputs
    one_feature = 6 * forward * (1 + outputs)
    one_entry = 2 * sum(_numbers(layer, outputs) for layer in layers)
    started = SECONDS_A_LAYER * len(layers)
    by_forward = steps * (10 * batch * forward / FLOPS_A_SECOND + started)
    once = (one_feature * (n + m) + one_entry * N * (N + M)) / FLOPS_A_SECOND
    an_update = 8 * batch * outputs * N / BYTES_A_SECOND + SECONDS_AN_UPDATE
    features = one_feature * n * (-(-n // MOST_EXAMPLES) + 1) / 2
    once_on_disk = (features + one_entry * N * N) / FLOPS_A_SECOND
    once_on_disk += 3 * 4 * N * N / BYTES_A_SECOND_ON_DISK
    read = 4 * batch * outputs * N / BYTES_A_SECOND_ON_DISK
    return {
        "forward": by_forward,
        "function": once + steps * an_update,
        "disk": once_on_disk + steps * (an_update + read),
    }


def _numbers(layer: nn.Module, outputs: int) -> float:
    """G of a layer."""
    if isinstance(layer, nn.Linear):
        return layer.in_features / outputs**2 + layer.out_features
    return sum(w.numel() for w in layer.parameters())
