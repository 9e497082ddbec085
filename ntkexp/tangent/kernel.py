"""Tangent kernels K = Phi Phi^T of a model on a batch, in total and by layer."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, get_args

import torch
from torch import Tensor, nn

from ntkexp.errors import UserError
from ntkexp.tangent.batch import Batch
from ntkexp.tangent.batch_function import batch_kernels
from ntkexp.tangent.checks.independence import Check
from ntkexp.tangent.checks.models import check_examples_independent
from ntkexp.tangent.features import Features, layer_of
from ntkexp.tangent.function import NetworkFunction
from ntkexp.tangent.gradients.checked import CheckedFeatures
from ntkexp.tangent.memory.available import (
    blocks,
    budget_or_default,
    in_huge_pages,
    refuse_beyond_memory,
)
from ntkexp.tangent.memory.workspace import Workspace
from ntkexp.tangent.outputs import Outputs, check_finite
from ntkexp.tangent.passes.preserve import preserve_model_state
from ntkexp.tangent.routes.blocks import mirror, times
from ntkexp.tangent.routes.plan import Plan, Step, add_layer

Centring: TypeAlias = Literal["class", "joint", "none"]


@dataclass
class TangentKernel:
    """K[(i,y),(j,z)] = <grad_w f_w(x_i)[y], grad_w f_w(x_j)[z]>, rows example-major: i c + y.

    `layers` holds the part of each module's own parameters, in the order of the forward; they sum
    to `gram`. `fallback` names the parameters no fast rule covered; `plan` says what was done.
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

    def times(self, factor: float) -> TangentKernel:
        """The kernel of sqrt(factor) f."""
        layers = {name: factor * k for name, k in self.layers.items()}
        return replace(self, gram=factor * self.gram, layers=layers)

    def centred(self, kind: Centring = "class") -> TangentKernel:
        """The kernel of centred features, in total and by layer.

        `class`: Phi - E_x Phi, each class minus its mean over the examples, (H x I) K (H x I);
        `joint`: C K C with C = I - 11^T / (n c), equation (7); `none`: the kernel as it is.
        """
        if kind not in get_args(Centring):
            raise UserError(f"centring {kind!r}: class, joint and none are accepted")
        return replace(
            self,
            gram=centred(self.gram, self.outputs, kind),
            layers={name: centred(k, self.outputs, kind) for name, k in self.layers.items()},
        )


def centred(gram: Tensor, outputs: int, kind: Centring) -> Tensor:
    """One matrix (n c, n' c), centred on both sides.

    >>> centred(torch.tensor([[1.0, 0.0], [0.0, 1.0]]), 1, "class")
    tensor([[ 0.5000, -0.5000],
            [-0.5000,  0.5000]])
    """
    if kind == "none":
        return gram
    if kind == "joint":
        return gram - gram.mean(0) - gram.mean(1, keepdim=True) + gram.mean()
    four = gram.view(len(gram) // outputs, outputs, -1, outputs)
    rows = four - four.mean(0, keepdim=True)
    return (rows - rows.mean(2, keepdim=True)).view(gram.shape)


def tangent_kernel(
    model: nn.Module,
    inputs: Tensor,
    other: Tensor | None = None,
    *,
    outputs: Outputs = None,
    layers: bool = True,
    budget_bytes: int | None = None,
    batch_function: bool = False,
    tf32: bool = False,
    check: Check = True,
) -> TangentKernel:
    """The kernel of `inputs` with themselves, or with `other`.

    model         any module from a batch to (n, c) in which examples do not interact
    outputs       None for all classes, a list of classes, or a function of the (n, c) outputs
                  to (n,) or (n, k): a class difference. A function (f, indices) is told which
                  examples it is given, as positions in `inputs`, those of `other` after them:
                  lambda f, i: f.gather(1, labels[i, None]) is each example's own class
    layers        False leaves out the split by layer
    budget_bytes  memory for activations, gradients and workspace; larger batches are cut into
                  blocks of examples, at the price of repeated passes
    batch_function  True takes the batch as one function: the only meaning a kernel has with batch
                  norm in training mode or active dropout, which are refused otherwise
    tf32          True lets a GPU round the factors of products to 10 bits
    check         that outputs are not random and that each depends on its own example alone:
                  True refuses, "warn" warns, False does not look

    >>> net = nn.Linear(1, 1)
    >>> tangent_kernel(net, torch.tensor([[2.0], [3.0]])).gram    # x x' + 1
    tensor([[ 5.,  7.],
            [ 7., 10.]])
    """
    if batch_function:
        if other is not None:
            raise UserError("batch_function=True: two batches have no common batch function")
        with preserve_model_state(model, tf32=tf32):
            function = NetworkFunction(model, outputs)
            return _of_batch_function(function, Batch.of(inputs), layers, budget_bytes)
    check_examples_independent(model)
    with preserve_model_state(model, tf32=tf32):
        batches = Batch.several([inputs] if other is None else [inputs, other])
        function = NetworkFunction(model, outputs)
        request = _Request(function, batches, layers, budget_bytes, check)
        return request.cross(*batches) if other is not None else request.symmetric(batches)[0]


def tangent_kernels(
    model: nn.Module,
    batches: Mapping[str, Tensor],
    *,
    outputs: Outputs = None,
    layers: bool = True,
    budget_bytes: int | None = None,
    tf32: bool = False,
    check: Check = True,
) -> dict[str, TangentKernel]:
    """The kernel of each batch with itself, from one forward and one set of backwards together.

    Indices for `outputs` count through the batches in their order.
    """
    check_examples_independent(model)
    with preserve_model_state(model, tf32=tf32):
        found = Batch.several([*batches.values()])
        request = _Request(NetworkFunction(model, outputs), found, layers, budget_bytes, check)
        return dict(zip(batches, request.symmetric(found), strict=True))


def _of_batch_function(
    function: NetworkFunction, batch: Batch, layers: bool, budget_bytes: int | None
) -> TangentKernel:
    values = function(batch)
    budget = budget_or_default(budget_bytes, values.device)
    grams = batch_kernels(values, function.parameters, budget)
    total = torch.stack(list(grams.values())).sum(0)
    return TangentKernel(total, grams if layers else {}, values.shape[1])


class _Request:
    """One request: what to compute, in which memory, and the plan as it is carried out."""

    def __init__(
        self,
        function: NetworkFunction,
        batches: list[Batch],
        layers: bool,
        budget_bytes: int | None,
        check: Check,
    ) -> None:
        if not batches:
            raise UserError("no batch of inputs was given")
        self.function, self.layers = function, layers
        self.features = CheckedFeatures(function, max(batches, key=len), budget_bytes, check)
        self.sizes, self.budget_bytes = self.features.sizes, self.features.budget_bytes
        self.workspace = Workspace(self.sizes.like, self.budget_bytes // 8)

    def symmetric(self, batches: list[Batch]) -> list[TangentKernel]:
        self._refuse_beyond_memory([(len(batch), len(batch)) for batch in batches])
        parts = self._blocks(sum(map(len, batches)))
        if len(parts) > 1 and len(batches) > 1:
            return [self.symmetric([batch])[0] for batch in batches]
        if len(parts) > 1:
            return [self._blockwise(batches[0], parts)]
        found = self.features.of(Batch.joined(batches), True)
        kernels = [self._empty(len(batch), len(batch), found) for batch in batches]
        start = 0
        for kernel, batch in zip(kernels, batches, strict=True):
            mine = slice(start, start + len(batch))
            self._add(kernel, found if len(batches) == 1 else found.part(mine), None)
            start += len(batch)
        return [self._finished(kernel, kernel.plan.halved) for kernel in kernels]

    def _blockwise(self, batch: Batch, parts: list[slice]) -> TangentKernel:
        kernel: TangentKernel | None = None
        for index, rows in enumerate(parts):
            left = self.features.of(batch[rows], False)
            kernel = kernel or self._empty(len(batch), len(batch), left)
            self._add(kernel, left, None, rows, rows)
            for columns in parts[:index]:
                right = self.features.of(batch[columns], False)
                self._add(kernel, left, right, rows, columns)
        assert kernel is not None
        return self._finished(kernel, set(left.layers))

    def cross(self, batch: Batch, other: Batch) -> TangentKernel:
        self._refuse_beyond_memory([(len(batch), len(other))])
        parts = self._blocks(len(batch) + len(other))
        if len(parts) == 1:
            found = self.features.of(Batch.joined([batch, other]), True)
            kernel = self._empty(len(batch), len(other), found)
            split = len(batch)
            self._add(kernel, found.part(slice(0, split)), found.part(slice(split, None)))
            return self._finished(kernel)
        size = parts[0].stop
        result: TangentKernel | None = None
        for rows in _ranges(len(batch), size):
            left = self.features.of(batch[rows], False)
            result = result or self._empty(len(batch), len(other), left)
            for columns in _ranges(len(other), size):
                self._add(result, left, self.features.of(other[columns], False), rows, columns)
        assert result is not None
        return self._finished(result)

    def _refuse_beyond_memory(self, sizes: list[tuple[int, int]]) -> None:
        k, owners = self.sizes.outputs, {layer_of(name) for name in self.function.parameters}
        rows, columns = (k * max(size) for size in zip(*sizes, strict=True))
        refuse_beyond_memory(rows, columns, len(owners) if self.layers else 0, self.sizes.like)

    def _blocks(self, examples: int) -> list[slice]:
        return blocks(examples, self.sizes.bytes_per_example, self.budget_bytes)

    def _empty(self, rows: int, columns: int, found: Features) -> TangentKernel:
        k = found.outputs
        size = (rows * k, columns * k)
        names = list(found.layers) if self.layers else []
        total, *split = in_huge_pages(self.sizes.like.new_empty(1 + len(names), *size)).zero_()
        return TangentKernel(total, dict(zip(names, split, strict=True)), k, found.fallback)

    def _add(
        self,
        kernel: TangentKernel,
        left: Features,
        right: Features | None,
        rows: slice | None = None,
        columns: slice | None = None,
    ) -> None:
        """Into the block of `kernel` that belongs to those examples."""
        for features_ in (left, right):
            if features_ is not None:
                kernel.plan.steps.append(Step("passes", "", features_.cost))
        for name, factors in left.layers.items():
            gram = kernel.layers.get(name, kernel.gram)
            if rows is not None and columns is not None:
                gram = gram[times(rows, kernel.outputs), times(columns, kernel.outputs)]
            others = right.layers[name] if right is not None else None
            kernel.plan.steps += add_layer(gram, name, factors, others, self.workspace)

    def _finished(self, kernel: TangentKernel, halved: Collection[str] = ()) -> TangentKernel:
        """The layers whose lower half alone is there mirrored, and the total."""
        if not kernel.layers and halved:
            mirror(kernel.gram)
        for name, gram in kernel.layers.items():
            if name in halved:
                mirror(gram)
            kernel.gram += gram
        check_finite(kernel.gram)
        return kernel


def _ranges(examples: int, size: int) -> list[slice]:
    return [slice(start, min(start + size, examples)) for start in range(0, examples, size)]
