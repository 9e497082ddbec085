"""Tr K = sum_ic |grad_w f_w(x_i)[c]|^2, exactly or by one backward."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import torch
from torch import Tensor, nn

from ntkexp.errors import UserError
from ntkexp.tangent.batch import Batch
from ntkexp.tangent.checks.gradients_apart import check_on_first
from ntkexp.tangent.checks.independence import check_same
from ntkexp.tangent.checks.known import recall, remember
from ntkexp.tangent.checks.models import (
    check_examples_independent,
)
from ntkexp.tangent.checks.operations import Trace, keep_apart
from ntkexp.tangent.factors.norms import norm_workspace, squared_norms
from ntkexp.tangent.function import NetworkFunction
from ntkexp.tangent.gradients.chain import chain_of, squared_length, unit_vectors
from ntkexp.tangent.gradients.checked import CheckedFeatures
from ntkexp.tangent.memory.available import blocks, budget_or_default
from ntkexp.tangent.outputs import Outputs
from ntkexp.tangent.passes.calls import parameterised
from ntkexp.tangent.passes.preserve import preserve_model_state
from ntkexp.tangent.passes.reference import drawn, first_few, gradients, length
from ntkexp.tangent.shared_forward import SharedForward, signs

Estimate: TypeAlias = Literal["signs", "hutchinson"]


def tangent_trace(
    model: nn.Module,
    inputs: Tensor,
    *,
    outputs: Outputs = None,
    estimate: Estimate | None = None,
    generator: torch.Generator | None = None,
    budget_bytes: int | None = None,
) -> Tensor:
    """The trace of the tangent kernel, a float64 scalar; no Gram matrix is formed.

    estimate None: exact, c backwards of activations and per-example norms.
    "signs":      sum_i |sum_c s_ic grad f_ic|^2 with random signs s_ic: unbiased, one backward.
                  Only the c x c diagonal blocks of K enter its variance, 2 sum_i sum_{c != c'} K^2.
    "hutchinson": |Phi^T s|^2, one ordinary backward; every off-diagonal entry enters.

    >>> net = nn.Linear(1, 2, bias=False)
    >>> round(tangent_trace(net, torch.tensor([[2.0], [3.0]])).item(), 3)    # 2 (4 + 9)
    26.0
    """
    check_examples_independent(model)
    if estimate is not None and estimate not in get_args(Estimate):
        raise UserError(f"estimate={estimate!r}: None, signs and hutchinson are accepted")
    if estimate is not None and generator is None:
        raise UserError("an estimate needs a generator: its draws are not taken from torch's own")
    batch = Batch.of(inputs)
    with preserve_model_state(model):
        function = NetworkFunction(model, outputs)
        if estimate == "hutchinson":
            return _hutchinson(function, batch, generator)
        if estimate == "signs":
            return SharedForward(model, outputs).run(batch.inputs, generator)
        return _exact(function, batch, budget_bytes)


def _exact(function: NetworkFunction, batch: Batch, budget_bytes: int | None) -> Tensor:
    of_chain = _exact_of_chain(function, batch, budget_bytes)
    if of_chain is not None:
        return of_chain
    features = CheckedFeatures(function, batch, budget_bytes)
    like = features.sizes.like
    workspace, total = norm_workspace(like), like.new_zeros((), dtype=torch.float64)
    parts = blocks(len(batch), features.sizes.bytes_per_example, features.budget_bytes)
    if len(parts) > 1:
        features.check_blocks(batch, parts[0].stop)
    for rows in parts:
        found = features.of(batch[rows], len(parts) == 1)
        factors = [factor for layer in found.layers.values() for factor in layer.values()]
        total += squared_norms(factors, workspace)
    return total


def _exact_of_chain(
    function: NetworkFunction, batch: Batch, budget_bytes: int | None
) -> Tensor | None:
    """The exact trace where every forward is a plain chain of linear layers, else None."""
    widths = []
    for module in parameterised(function.model).values():
        if type(module) is not nn.Linear:
            return None
        widths.append(module.out_features)
    weight = next(iter(function.parameters.values()))
    bytes_each = (2 + 3 * widths[-1]) * sum(widths) * weight.element_size()
    budget = budget_or_default(budget_bytes, function.device)
    parts = blocks(len(batch), bytes_each, budget)
    independent = _check_chain(function, batch, parts[0].stop)
    if independent is None:
        return None
    total = weight.new_zeros((), dtype=torch.float64)
    for rows in parts:
        guarded = len(batch[rows]) not in independent
        raw = function.raw(batch[rows], guarded=guarded)
        chain = chain_of(function.select(raw, batch[rows]), function.parameters.values())
        if chain is None:
            return None
        total += squared_length(chain, unit_vectors(chain))
    return total


def _check_chain(function: NetworkFunction, batch: Batch, block: int) -> set[int] | None:
    """Check that examples are independent, unless that is known; the sizes for which it is.

    None where autograd's gradients are not the chain's: a hook may change them on their way.
    """
    known = recall(function, batch)
    if known is not None and block in known.chained:
        return known.independent if known.chained[block] else None
    check_on_first(function, batch, block)
    few, first = first_few(batch[:block]), batch[:block]
    traces: tuple[Trace, Trace] = [], []
    alone = function.select(function.raw(few, trace=traces[0]), few, traces[0])
    within = function.select(function.raw(first, trace=traces[1]), first, traces[1])
    check_same(function, few, alone, within[: len(few)])
    is_chain = _is_chain(function, alone)
    known = None
    if keep_apart(*traces, len(few), len(first)):
        known = remember(function, batch, None)
    if known is not None:
        known.independent.add(block)
        known.chained[block] = is_chain
    if not is_chain:
        return None
    return known.independent if known is not None else set()


def _is_chain(function: NetworkFunction, values: Tensor) -> bool:
    """Whether the chain's formula gives the length of the first example's true gradient."""
    chain = chain_of(values, function.parameters.values())
    if chain is None:
        return False
    cotangent = drawn(values)
    cotangent[1:] = 0
    truth = length(gradients(values, function.parameters, cotangent).values()) ** 2
    tolerance = 1e-8 if values.dtype == torch.float64 else 1e-3
    return abs(float(squared_length(chain, cotangent)) - truth) <= tolerance * truth + 1e-30


def _hutchinson(
    function: NetworkFunction, batch: Batch, generator: torch.Generator | None
) -> Tensor:
    values = function(batch)
    grads = torch.autograd.grad(
        values, [*function.parameters.values()], signs(values, generator), allow_unused=True
    )
    squares = [torch.linalg.vector_norm(grad).double() ** 2 for grad in grads if grad is not None]
    return torch.stack(squares).sum()
