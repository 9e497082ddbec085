"""Tangent kernels K = Phi Phi^T of a model on a batch, in total and by layer, and how the products
of a layer's features are made."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from ntkexp.machine import on_gpu
from ntkexp.progress import track
from ntkexp.tangent.batch import Batch, check_finite
from ntkexp.tangent.factors import Direct, Factor, Outer, Tied, near_bytes
from ntkexp.tangent.features import CheckedFeatures, Features, Summed, layer_of
from ntkexp.tangent.function import NetworkFunction
from ntkexp.tangent.memory import (
    Workspace,
    blocks,
    budget_or_default,
    cut,
    in_huge_pages,
    refuse_beyond_memory,
)
from ntkexp.tangent.shape import STRIPE, Cost, Shape, lower_blocks, mirror, times
from ntkexp.tangent.ways import WAYS, Jacobians, Way

# Operations the machine does in the time it moves a byte: about 140 GFLOP/s over 14 GB/s on two
# CPU cores, 50 TFLOP/s over 3 TB/s on a large GPU.
CPU_FLOPS_PER_BYTE = 10.0
CUDA_FLOPS_PER_BYTE = 17.0
LEAST_ROWS = 128
# Products that are summed in one go: of 38 million in float32 the sum is 5e-4 off, of pieces 2e-6.
LONGEST = 2**14


@dataclass(frozen=True)
class Step:
    """One product of a plan: of which layer, in which way, at which cost.

    `half`: of a symmetric matrix only the part on and below the diagonal was computed.
    """

    layer: str
    way: str
    cost: Cost
    half: bool = False


@dataclass
class Plan:
    """The steps that were done, in order; speed is measured against the sum of their `flops`."""

    steps: list[Step] = field(default_factory=list)

    @property
    def flops(self) -> float:
        return sum(step.cost.flops for step in self.steps)

    @property
    def halved(self) -> set[str]:
        """The layers of which some product was computed by half."""
        return {step.layer for step in self.steps if step.half}


@dataclass(repr=False)
class TangentKernel:
    """K[(i,y),(j,z)] = <grad_w f_w(x_i)[y], grad_w f_w(x_j)[z]>, rows example-major: i c + y.

    `layers` holds the part of each module's own parameters, in the order of the forward; they sum
    to `gram`. `fallback` names the parameters no fast rule covered; `plan` lists the products.
    """

    gram: Tensor
    layers: dict[str, Tensor]
    outputs: int
    fallback: list[str] = field(default_factory=list)
    plan: Plan = field(default_factory=Plan)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """(n, c, n', c'), for `kernel.gram.view(kernel.shape)`."""
        rows, columns = self.gram.shape
        return rows // self.outputs, self.outputs, columns // self.outputs, self.outputs

    def __repr__(self) -> str:
        rows, outputs, columns, _ = self.shape
        of = f"{rows} x {columns} inputs, {outputs} outputs, {len(self.layers)} layers"
        return f"TangentKernel({of}, {self.gram.dtype}, {self.gram.device})"

    def times(self, factor: float) -> TangentKernel:
        """The kernel of sqrt(factor) f."""
        layers = {name: factor * k for name, k in self.layers.items()}
        return replace(self, gram=factor * self.gram, layers=layers)


class KernelBuilder:
    """Makes kernels from `features`, in blocks that fit into memory."""

    def __init__(self, features: CheckedFeatures | Summed, layers: bool) -> None:
        self.features, self.layers = features, layers
        self.sizes, self.budget_bytes = features.sizes, features.budget_bytes
        self.workspace = Workspace(self.sizes.like, self.budget_bytes // 8)

    def symmetric(self, batches: list[Batch]) -> list[TangentKernel]:
        """The kernel of each batch with itself; of several that fit, from one forward."""
        self._refuse_beyond_memory([(len(batch), len(batch)) for batch in batches])
        ranges = self._blocks(sum(map(len, batches)))
        if len(ranges) > 1 and len(batches) > 1:
            return [self.symmetric([batch])[0] for batch in batches]
        if len(ranges) > 1:
            return [self._blockwise(batches[0], ranges)]
        features = self.features.of(Batch.joined(batches))
        kernels = [self._empty(len(batch), len(batch), features) for batch in batches]
        start = 0
        for kernel, batch in zip(kernels, batches, strict=True):
            examples = slice(start, start + len(batch))
            self._add(kernel, features if len(batches) == 1 else features.part(examples), None)
            start += len(batch)
        return [self._finished(kernel, kernel.plan.halved) for kernel in kernels]

    def _blockwise(self, batch: Batch, ranges: list[slice]) -> TangentKernel:
        """The lower half of a kernel, block by block; features are computed for each pair."""
        kernel: TangentKernel | None = None
        for index, rows in enumerate(track(ranges, "tangent kernel")):
            left = self.features.of(batch[rows])
            kernel = kernel or self._empty(len(batch), len(batch), left)
            self._add(kernel, left, None, rows, rows)
            for columns in track(ranges[:index], "tangent kernel"):
                right = self.features.of(batch[columns])
                self._add(kernel, left, right, rows, columns)
        assert kernel is not None
        return self._finished(kernel, set(left.layers))

    def cross(self, batch: Batch, other: Batch) -> TangentKernel:
        """The kernel of one batch, its rows, with another."""
        self._refuse_beyond_memory([(len(batch), len(other))])
        ranges = self._blocks(len(batch) + len(other))
        if len(ranges) == 1:
            features = self.features.of(Batch.joined([batch, other]))
            kernel = self._empty(len(batch), len(other), features)
            split = len(batch)
            self._add(kernel, features.part(slice(0, split)), features.part(slice(split, None)))
            return self._finished(kernel)
        size = ranges[0].stop
        result: TangentKernel | None = None
        for rows in cut(len(batch), size):
            left = self.features.of(batch[rows])
            result = result or self._empty(len(batch), len(other), left)
            for columns in track(cut(len(other), size), "tangent kernel"):
                self._add(result, left, self.features.of(other[columns]), rows, columns)
        assert result is not None
        return self._finished(result)

    def _refuse_beyond_memory(self, sizes: list[tuple[int, int]]) -> None:
        owners = {layer_of(name) for name in self.features.function.parameters}
        rows, columns = (self.sizes.outputs * max(size) for size in zip(*sizes, strict=True))
        refuse_beyond_memory(rows, columns, len(owners) if self.layers else 0, self.sizes.like)

    def _blocks(self, examples: int) -> list[slice]:
        return blocks(examples, self.sizes.bytes_per_example, self.budget_bytes)

    def _empty(self, rows: int, columns: int, features: Features) -> TangentKernel:
        k = features.outputs
        size = (rows * k, columns * k)
        names = list(features.layers) if self.layers else []
        total, *split = in_huge_pages(self.sizes.like.new_empty(1 + len(names), *size)).zero_()
        return TangentKernel(total, dict(zip(names, split, strict=True)), k, features.fallback)

    def _add(
        self,
        kernel: TangentKernel,
        left: Features,
        right: Features | None,
        rows: slice | None = None,
        columns: slice | None = None,
    ) -> None:
        """Add products to the block of `kernel` that belongs to those examples."""
        for side in (left, right):
            if side is not None:
                kernel.plan.steps.append(Step("passes", "", Cost(side.flops, 0.0)))
        for name, factors in left.layers.items():
            gram = kernel.layers.get(name, kernel.gram)
            if rows is not None and columns is not None:
                gram = gram[times(rows, kernel.outputs), times(columns, kernel.outputs)]
            others = right.layers[name] if right is not None else None
            kernel.plan.steps += add_layer(gram, name, factors, others, self.workspace)

    def _finished(self, kernel: TangentKernel, halved: Collection[str] = ()) -> TangentKernel:
        """Mirror the layers of which only the lower half was computed, and add up the total."""
        if not kernel.layers and halved:
            mirror(kernel.gram)
        elif halved and len(kernel.gram) <= STRIPE:  # all at once: a small one is quickly done
            lower = torch.stack([*kernel.layers.values()]).tril_()
            lower += lower.tril(-1).mT
            kernel.layers, halved = dict(zip(kernel.layers, lower, strict=True)), ()
        for name, gram in kernel.layers.items():
            if name in halved:
                mirror(gram)
            kernel.gram += gram
        check_finite(kernel.gram)
        return kernel


def cheapest(shape: Shape, device: torch.device) -> type[Way]:
    """The way to multiply with the least FLOPs, bytes counted at the machine's exchange rate."""
    rate = CUDA_FLOPS_PER_BYTE if on_gpu(device) else CPU_FLOPS_PER_BYTE

    def price(way: type[Way]) -> float:
        cost = way.cost(shape)
        return cost.flops + cost.lost + rate * cost.bytes

    return min(WAYS, key=price)


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
    for name, factor in sorted(left.items(), key=lambda item: not isinstance(item[1], Outer)):
        other = None if right is None else right.get(name)
        if name in done or (right is not None and other is None):
            continue
        if isinstance(factor, Outer) and (other is None or isinstance(other, Outer)):
            shape = Shape.of(factor, other)
            way = cheapest(shape, gram.device)
            if factor.bias and way is not Jacobians and (other is None or other.bias):
                done.add(factor.bias)
                factor = replace(factor, u=replace(factor.u, with_one=True))
            way.add(gram, factor, other, workspace)
            steps.append(Step(layer, way.name, way.cost(shape), way.halves(shape)))
        else:
            cost = _add_direct(gram, factor, other, workspace)
            steps.append(Step(layer, "direct", cost, other is None))
    return steps


def _add_direct(gram: Tensor, left: Factor, right: Factor | None, workspace: Workspace) -> Cost:
    """gram += the products of gradients outright, some parameters at a time."""
    room = min(workspace.limit_bytes, near_bytes(gram))
    most = max(1, room // (max(gram.shape) * gram.element_size()))
    pairs = gram.numel() if right is not None else len(gram) * (len(gram) + 1) // 2
    cost = Cost(2.0 * pairs * left.parameters, len(gram) * left.parameters * gram.element_size())
    if right is None and isinstance(left, Direct) and left.parameters <= min(most, LONGEST):
        rows = left.values.flatten(0, 1)
        for r, c in lower_blocks(len(gram), LEAST_ROWS):
            gram[r, c].addmm_(rows[r], rows[c].t())
        return cost
    given = [left] if right is None else [left, right]
    sides = [side for side in given if not isinstance(side, Outer)]
    if len(sides) < len(given) or len({*map(type, sides)}) > 1:
        sides = [Direct(side.jacobian()) for side in given]
    blocks = [*lower_blocks(len(gram), LEAST_ROWS)] if right is None else [(slice(None),) * 2]
    for pieces in zip(*(side.pieces(most) for side in sides), strict=True):
        shorter = (torch.split(piece.flatten(0, 1), LONGEST, 1) for piece in pieces)
        for parts in zip(*shorter, strict=True):
            for r, c in blocks:
                gram[r, c].addmm_(parts[0][r], parts[-1][c].t())
    formed = sum(side.flops for side in sides if isinstance(side, Tied))
    return replace(cost, flops=cost.flops + formed)


def batch_kernel(
    function: NetworkFunction, batch: Batch, layers: bool, budget_bytes: int | None
) -> TangentKernel:
    """The kernel of a whole batch as one function, for batch norm in training mode and dropout.

    There x_j moves f(x_i), so the features are rows of the Jacobian of the batch function
    (x_1, ..., x_n) -> f(x_1), ..., f(x_n); noise is what one forward drew. It takes n c full
    backwards, about 50 times the kernel of a net in evaluation mode.
    """
    values = function(batch)
    size, budget = values.numel(), budget_or_default(budget_bytes, values.device)
    workspace = Workspace(values.detach(), budget // 8)
    weights = sum(parameter.numel() for parameter in function.parameters.values())
    step = max(1, budget // (2 * weights * values.element_size()))
    ranges = cut(size, step)
    names = dict.fromkeys(map(layer_of, function.parameters))
    grams = {name: values.new_zeros(size, size).detach() for name in names}
    for index, rows in enumerate(ranges):
        left = _rows(function, values, rows)
        for columns in ranges[: index + 1]:
            right = None if columns == rows else _rows(function, values, columns)
            for name, gram in grams.items():
                others = None if right is None else right[name]
                add_layer(gram[rows, columns], name, left[name], others, workspace)
    for gram in grams.values():
        mirror(gram)
    total = torch.stack([*grams.values()]).sum(0)
    return TangentKernel(total, grams if layers else {}, values.shape[1])


def _rows(function: NetworkFunction, values: Tensor, rows: slice) -> dict[str, dict[str, Factor]]:
    """Some rows of the Jacobian, each as an example of one output, by layer and parameter."""
    picked = values.flatten()[rows]
    # Filled row by row: gradients that stay where they were made leave gaps of several times their
    # own size, 22 GB for a ResNet18 of 700,000 weights.
    stacked = {
        name: parameter.detach().new_empty(len(picked), parameter.numel())
        for name, parameter in function.parameters.items()
    }
    for place, value in enumerate(picked):
        grads = torch.autograd.grad(
            value,
            [*function.parameters.values()],
            retain_graph=True,
            allow_unused=True,
            materialize_grads=True,
        )
        for into, grad in zip(stacked.values(), grads, strict=True):
            into[place] = grad.flatten()
    factors: dict[str, dict[str, Factor]] = {}
    for name, of_parameter in stacked.items():
        factors.setdefault(layer_of(name), {})[name] = Direct(of_parameter.unsqueeze(1))
    return factors
