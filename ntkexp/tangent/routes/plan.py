"""Which route each layer takes, and what the whole kernel costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from ntkexp.machine.gpus import on_gpu
from ntkexp.tangent.factors.factor import Factor, Outer
from ntkexp.tangent.factors.positions import WithOne
from ntkexp.tangent.memory.available import Workspace
from ntkexp.tangent.routes import ROUTES, Cost, Jacobians, Route, Shape
from ntkexp.tangent.routes.shape import lower_blocks

# Operations the machine does in the time it moves a byte: about 140 GFLOP/s over 14 GB/s on two
# CPU cores, 50 TFLOP/s over 3 TB/s on a large GPU.
CPU_FLOPS_PER_BYTE = 10.0
CUDA_FLOPS_PER_BYTE = 17.0
LEAST_ROWS = 128


@dataclass(frozen=True)
class Step:
    """One product of a plan: what, by which route, at which cost.

    `half` says that of a symmetric matrix only what is on and below the diagonal was computed.
    """

    layer: str
    route: str
    cost: Cost
    half: bool = False


@dataclass
class Plan:
    """What was done, in order; `flops` is the sum that speed is measured against."""

    steps: list[Step] = field(default_factory=list)

    @property
    def flops(self) -> float:
        return sum(step.cost.flops for step in self.steps)

    @property
    def halved(self) -> set[str]:
        """The layers of which some product is there by half."""
        return {step.layer for step in self.steps if step.half}

    def __str__(self) -> str:
        return "\n".join(
            f"{step.layer:<24} {step.route:<10} {step.cost.flops / 1e9:12.3f} GFLOP"
            for step in self.steps
        )


def cheapest(shape: Shape, device: torch.device) -> type[Route]:
    """The route with the least FLOPs, bytes counted at the machine's exchange rate."""
    rate = CUDA_FLOPS_PER_BYTE if on_gpu(device) else CPU_FLOPS_PER_BYTE

    def price(route: type[Route]) -> float:
        cost = route.cost(shape)
        return cost.flops + cost.lost + rate * cost.bytes

    return min(ROUTES, key=price)


def add_layer(
    gram: Tensor,
    layer: str,
    left: Mapping[str, Factor],
    right: Mapping[str, Factor] | None,
    workspace: Workspace,
) -> list[Step]:
    """gram += the products of a layer's features; with `right` None, its lower half at least.

    A parameter that one side lacks has no gradient there. Outer products come first: they say which
    biases are in them already.
    """
    steps, done = [], set()
    for name, one in sorted(left.items(), key=lambda item: not isinstance(item[1], Outer)):
        two = None if right is None else right.get(name)
        if name in done or (right is not None and two is None):
            continue
        if isinstance(one, Outer) and (two is None or isinstance(two, Outer)):
            shape = Shape.of(one, two)
            route = cheapest(shape, gram.device)
            if one.bias and route is not Jacobians and (two is None or two.bias):
                done.add(one.bias)
                one = replace(one, u=WithOne(one.u))
            route.add(gram, one, two, workspace)
            steps.append(Step(layer, route.name, route.cost(shape), route.halves(shape)))
        else:
            steps.append(Step(layer, "direct", _add_direct(gram, one, two), two is None))
    return steps


def _add_direct(gram: Tensor, left: Factor, right: Factor | None) -> Cost:
    rows = left.jacobian().flatten(0, 1)
    if right is not None:
        columns = right.jacobian().flatten(0, 1)
        gram.addmm_(rows, columns.t())
        return Cost(2.0 * len(rows) * len(columns) * rows.shape[1], rows.nbytes)
    for r, c in lower_blocks(len(rows), LEAST_ROWS):
        gram[r, c].addmm_(rows[r], rows[c].t())
    return Cost(1.0 * len(rows) * (len(rows) + 1) * rows.shape[1], rows.nbytes)
