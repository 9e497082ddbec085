"""Tangent kernels K = Phi Phi^T of a model on a batch, in total and by layer."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, get_args

import torch
from torch import Tensor, nn

from ntkexp.errors import UserError
from ntkexp.tangent.batch_function import batch_kernels
from ntkexp.tangent.features import Features, features
from ntkexp.tangent.memory import blocks, default_budget, in_huge_pages
from ntkexp.tangent.outputs import Outputs, chosen
from ntkexp.tangent.plan import Plan, Step, add_layer
from ntkexp.tangent.refusals import refuse_coupled, refuse_empty, trainable
from ntkexp.tangent.rehearsal import Rehearsal, rehearse
from ntkexp.tangent.routes.blocks import mirror, times
from ntkexp.tangent.untouched import untouched
from ntkexp.tangent.workspace import Workspace

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
) -> TangentKernel:
    """The kernel of `inputs` with themselves, or with `other`.

    model         any module from a batch to (n, c) in which examples do not interact
    outputs       None for all classes, a list of classes, or a function of the (n, c) outputs
                  to (n,) or (n, k): a class difference, a margin
    layers        False leaves out the split by layer
    budget_bytes  memory for activations, gradients and workspace; larger batches are cut into
                  blocks of examples, at the price of repeated passes
    batch_function  True takes the batch as one function: the only meaning a kernel has with batch
                  norm in training mode or active dropout, which are refused otherwise
    tf32          True lets a GPU round the factors of products to 10 bits

    >>> net = nn.Linear(1, 1)
    >>> tangent_kernel(net, torch.tensor([[2.0], [3.0]])).gram    # x x' + 1
    tensor([[ 5.,  7.],
            [ 7., 10.]])
    """
    parameters = trainable(model)
    if batch_function:
        if other is not None:
            raise UserError("batch_function=True: two batches have no common batch function")
        with untouched(model, tf32=tf32):
            return _of_batch_function(model, inputs, outputs, parameters, layers, budget_bytes)
    refuse_coupled(model)
    with untouched(model, tf32=tf32):
        run = _Run(model, outputs, parameters, [inputs], layers, budget_bytes)
        if other is None:
            return run.symmetric([inputs])[0]
        return run.cross(inputs, other)


def tangent_kernels(
    model: nn.Module,
    batches: Mapping[str, Tensor],
    *,
    outputs: Outputs = None,
    layers: bool = True,
    budget_bytes: int | None = None,
    tf32: bool = False,
) -> dict[str, TangentKernel]:
    """The kernel of each batch with itself, from one forward and one set of backwards together."""
    parameters = trainable(model)
    refuse_coupled(model)
    with untouched(model, tf32=tf32):
        tensors = list(batches.values())
        run = _Run(model, outputs, parameters, tensors, layers, budget_bytes)
        return dict(zip(batches, run.symmetric(tensors), strict=True))


def _of_batch_function(
    model: nn.Module,
    inputs: Tensor,
    outputs: Outputs,
    parameters: dict[str, nn.Parameter],
    layers: bool,
    budget_bytes: int | None,
) -> TangentKernel:
    refuse_empty(inputs)
    values = chosen(model(inputs.detach().clone()), outputs, len(inputs))
    grams = batch_kernels(values, parameters, budget_bytes or default_budget(values.device))
    total = torch.stack(list(grams.values())).sum(0)
    return TangentKernel(total, grams if layers else {}, values.shape[1])


class _Run:
    """One request: what to compute, in which memory, and the plan as it is carried out."""

    def __init__(
        self,
        model: nn.Module,
        outputs: Outputs,
        parameters: dict[str, nn.Parameter],
        batches: list[Tensor],
        layers: bool,
        budget_bytes: int | None,
    ) -> None:
        if not batches:
            raise UserError("no batch of inputs was given")
        for batch in batches:
            refuse_empty(batch)
        self.model, self.outputs, self.parameters, self.layers = model, outputs, parameters, layers
        self.rehearsal: Rehearsal = rehearse(model, batches[0].detach(), outputs, parameters)
        self.device = self.rehearsal.values.device
        self.budget_bytes = budget_bytes or default_budget(self.device)
        self.workspace = Workspace(self.rehearsal.values, self.budget_bytes // 8)

    def symmetric(self, batches: list[Tensor]) -> list[TangentKernel]:
        parts = blocks(sum(map(len, batches)), self.rehearsal.bytes_per_example, self.budget_bytes)
        if len(parts) > 1 and len(batches) > 1:
            return [self.symmetric([batch])[0] for batch in batches]
        together = batches[0].detach() if len(batches) == 1 else torch.cat(batches).detach()
        if len(parts) > 1:
            return [self._blockwise(together, parts)]
        found = self._features(together, self.rehearsal)
        kernels = [self._empty(len(batch), len(batch), found) for batch in batches]
        start = 0
        for kernel, batch in zip(kernels, batches, strict=True):
            mine = slice(start, start + len(batch))
            self._add(kernel, found if len(batches) == 1 else found.part(mine), None)
            start += len(batch)
        return [self._finished(kernel, kernel.plan.halved) for kernel in kernels]

    def _blockwise(self, inputs: Tensor, parts: list[slice]) -> TangentKernel:
        kernel: TangentKernel | None = None
        for index, rows in enumerate(parts):
            left = self._features(inputs[rows])
            kernel = kernel or self._empty(len(inputs), len(inputs), left)
            self._add(kernel, left, None, rows, rows)
            for columns in parts[:index]:
                right = self._features(inputs[columns])
                self._add(kernel, left, right, rows, columns)
        assert kernel is not None
        return self._finished(kernel, set(left.layers))

    def cross(self, inputs: Tensor, other: Tensor) -> TangentKernel:
        per_example = self.rehearsal.bytes_per_example
        if (len(inputs) + len(other)) * per_example <= self.budget_bytes:
            found = self._features(torch.cat([inputs, other]).detach(), self.rehearsal)
            kernel = self._empty(len(inputs), len(other), found)
            split = len(inputs)
            self._add(kernel, found.part(slice(0, split)), found.part(slice(split, None)))
            return self._finished(kernel)
        result: TangentKernel | None = None
        for rows in blocks(len(inputs), 2 * per_example, self.budget_bytes):
            left = self._features(inputs[rows].detach())
            result = result or self._empty(len(inputs), len(other), left)
            for columns in blocks(len(other), 2 * per_example, self.budget_bytes):
                right = self._features(other[columns].detach())
                self._add(result, left, right, rows, columns)
        assert result is not None
        return self._finished(result)

    def _features(self, inputs: Tensor, rehearsal: Rehearsal | None = None) -> Features:
        model, outputs, parameters = self.model, self.outputs, self.parameters
        rehearsal = rehearsal or rehearse(model, inputs, outputs, parameters)
        return features(model, inputs, outputs, parameters, rehearsal)

    def _empty(self, rows: int, columns: int, found: Features) -> TangentKernel:
        k = found.outputs
        size = (rows * k, columns * k)
        names = list(found.layers) if self.layers else []
        total, *split = in_huge_pages(
            self.rehearsal.values.new_empty(1 + len(names), *size)
        ).zero_()
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
        return kernel
