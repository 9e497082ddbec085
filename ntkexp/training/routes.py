"""By which route a linearised network is trained, and why.

Forward mode sees the network at every update; function space (ntkexp/training/function_stack.py)
computes its kernel once and then reads b c rows of n c numbers an update. With B the
multiplications of a forward of one example, P the parameters, N = n c and M the same of the test
examples that are evaluated, on one core:

    forward mode     10 b B flops an update (two forwards, two backwards and a half), and the
                     starting of operations
    function space   8 b c N bytes an update;  once (1 + c) 6 B flops an example of both sets for
                     the features, and 2 N (N + M) G flops for the products, G being the numbers
                     that stand for a layer's gradient: inputs / c^2 + outputs where it is linear,
                     at most all its weights where it is a convolution

Rates are of one thread of a present-day core; both routes gain alike by more of them, so only the
comparison counts, and where it is close either will do. What is kept and shared decides beyond
that: function space needs room for its kernels, plain SGD, and images that nothing augments.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn
from torch.nn.modules.conv import _ConvNd

from ntkexp.config import TrainConfig
from ntkexp.data import Dataset
from ntkexp.data.batches import Batches
from ntkexp.data.image_options import Augment
from ntkexp.errors import UserError
from ntkexp.execution.memory import available_bytes
from ntkexp.optim.sgd import Sgd
from ntkexp.training.function_learner import FunctionLearner, evaluated
from ntkexp.training.network_learner import NetworkLearner
from ntkexp.training.prepared import Prepared
from ntkexp.training.schedule import last_step
from ntkexp.training.supervised import MakeLearner, Supervised
from ntkexp.transforms.functions.linearised import Linearised
from ntkexp.transforms.linearise import Linearise, Route

ROUTES: Mapping[str, MakeLearner] = {
    NetworkLearner.route: NetworkLearner,
    FunctionLearner.route: FunctionLearner,
}
FLOPS_A_SECOND = 50e9
BYTES_A_SECOND = 10e9
SECONDS_A_LAYER = 1e-4  # to start its operations, forward and back
SECONDS_AN_UPDATE = 1e-4  # the same for all of function space
# Of the memory that is free; the rest is for computing the kernels.
SHARE_OF_MEMORY = 0.5


@dataclass(frozen=True)
class Choice:
    """A route, and what is told of it in the provenance of a run."""

    route: str
    about: Mapping[str, Any]


def work_of(prepared: Prepared, *, one_of_many: bool = False) -> tuple[Supervised, dict[str, Any]]:
    """The work of one network, and how it came to its route; `one_of_many`: of a run of members."""
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
    obstacle = obstacle_to_function_space(prepared)
    if wanted is Route.function and obstacle is not None:
        raise UserError(f"transform.route=function: {obstacle}; expected auto or forward")
    if wanted is not Route.auto:
        return _chosen(wanted, "as transform.route says")
    if obstacle is not None:
        return _chosen(Route.forward, obstacle)
    costs = seconds(config, prepared.dataset, prepared.model, prepared.objective.outputs)
    cheaper = Route.function if costs["function"] <= costs["forward"] else Route.forward
    if one_of_many:
        return _chosen(Route.function, "many networks in one run")
    return _chosen(cheaper, "of the two estimates the smaller", costs)


def _chosen(route: Route, why: str, costs: Mapping[str, float] | None = None) -> Choice:
    about: dict[str, Any] = {"taken": str(route), "because": why}
    if costs is not None:
        about["estimated_seconds"] = {name: round(cost, 3) for name, cost in costs.items()}
    made = FunctionLearner.route if route is Route.function else NetworkLearner.route
    return Choice(made, about)


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
    needed = kernel_bytes(prepared.config, dataset, prepared.objective.outputs)
    room = SHARE_OF_MEMORY * available_bytes()
    if needed > room:
        return f"the kernels need {needed / 2**30:.1f} GiB, and there are {room / 2**30:.1f} for it"
    return None


def kernel_bytes(config: TrainConfig, dataset: Dataset, outputs: int) -> int:
    """Of the kernels that are held: train with train, and evaluated test with train."""
    rows = len(dataset.train) + evaluated(dataset.test, config.evaluate.test_examples)
    return rows * len(dataset.train) * outputs**2 * dataset.train.inputs.element_size()


def seconds(
    config: TrainConfig, dataset: Dataset, model: nn.Module, outputs: int
) -> dict[str, float]:
    """What the two routes are estimated to take, but for the looks."""
    n, shape = len(dataset.train), dataset.input_shape
    m = evaluated(dataset.test, config.evaluate.test_examples)
    batches = Batches(n, config.optim.batch_size, config.seed)
    steps = last_step(config.optim, batches.steps_per_epoch)
    batch = min(n, config.optim.batch_size or n)
    size = sum(w.numel() for w in model.parameters())
    forward = config.model.multiplications(shape, outputs) or size
    layers = [module for module in model.modules() if isinstance(module, nn.Linear | _ConvNd)]
    N, M = n * outputs, m * outputs
    features = 6 * forward * (1 + outputs) * (n + m)
    products = 2 * N * (N + M) * sum(_numbers(layer, outputs) for layer in layers)
    started = SECONDS_A_LAYER * len(layers)
    by_forward = steps * (10 * batch * forward / FLOPS_A_SECOND + started)
    read = 8 * batch * outputs * N / BYTES_A_SECOND
    by_function = (features + products) / FLOPS_A_SECOND + steps * (read + SECONDS_AN_UPDATE)
    return {"forward": by_forward, "function": by_function}


def _numbers(layer: nn.Module, outputs: int) -> float:
    """G of a layer."""
    if isinstance(layer, nn.Linear):
        return layer.in_features / outputs**2 + layer.out_features
    return sum(w.numel() for w in layer.parameters())
