"""Which route each layer takes, and what the whole kernel costs."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from ntkexp.tangent.factors import Factor, Outer
from ntkexp.tangent.routes import ROUTES, Cost, Route, Shape
from ntkexp.tangent.routes.blocks import lower_blocks
from ntkexp.tangent.workspace import Workspace

# Operations the machine does in the time it moves a byte: about 140 GFLOP/s over 14 GB/s on two
# CPU cores, 50 TFLOP/s over 3 TB/s on a large GPU.
CPU_FLOPS_PER_BYTE = 10.0
CUDA_FLOPS_PER_BYTE = 17.0
LEAST_ROWS = 128


@dataclass(frozen=True)
class Step:
    """One product of a plan: what, by which route, at which cost."""

    layer: str
    route: str
    cost: Cost


@dataclass
class Plan:
    """What was done, in order; `flops` is the sum that speed is measured against."""

    steps: list[Step] = field(default_factory=list)

    @property
    def flops(self) -> float:
        return sum(step.cost.flops for step in self.steps)

    def __str__(self) -> str:
        return "\n".join(
            f"{step.layer:<24} {step.route:<10} {step.cost.flops / 1e9:12.3f} GFLOP"
            for step in self.steps
        )


def cheapest(shape: Shape, device: torch.device) -> type[Route]:
    """The route with the least FLOPs, bytes counted at the machine's exchange rate."""
    rate = CUDA_FLOPS_PER_BYTE if device.type == "cuda" else CPU_FLOPS_PER_BYTE

    def price(route: type[Route]) -> float:
        cost = route.cost(shape)
        return cost.flops + cost.lost + rate * cost.bytes

    return min(ROUTES, key=price)


def add_products(
    gram: Tensor, left: Factor, right: Factor | None, workspace: Workspace
) -> tuple[str, Cost]:
    """gram += <left, right> by the cheapest route; with right None, its lower half at least."""
    if isinstance(left, Outer) and (right is None or isinstance(right, Outer)):
        shape = Shape.of(left, right)
        route = cheapest(shape, gram.device)
        route.add(gram, left, right, workspace)
        return route.name, route.cost(shape)
    rows = left.jacobian().flatten(0, 1)
    if right is not None:
        columns = right.jacobian().flatten(0, 1)
        gram.addmm_(rows, columns.t())
        return "direct", Cost(2.0 * len(rows) * len(columns) * rows.shape[1], rows.nbytes)
    for r, c in lower_blocks(len(rows), LEAST_ROWS):
        gram[r, c].addmm_(rows[r], rows[c].t())
    return "direct", Cost(1.0 * len(rows) * (len(rows) + 1) * rows.shape[1], rows.nbytes)
