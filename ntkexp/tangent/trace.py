"""Tr K = sum_ic |grad_w f_w(x_i)[c]|^2, exactly or by one backward."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import torch
from torch import Tensor, nn

from ntkexp.errors import UserError
from ntkexp.tangent.batch import Batch
from ntkexp.tangent.checks.independence import Check, check_independent
from ntkexp.tangent.checks.models import check_examples_independent
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
    check: Check = True,
) -> Tensor:
    """The trace of the tangent kernel, a float64 scalar; no Gram matrix is formed.

    estimate None: exact, c backwards of activations and per-example norms.
    "signs":      sum_i |sum_c s_ic grad f_ic|^2 with random signs s_ic: unbiased, one backward.
                  Only the c x c diagonal blocks of K enter its variance, 2 sum_i sum_{c != c'} K^2.
    "hutchinson": |Phi^T s|^2, one ordinary backward; every off-diagonal entry enters.
    check         as in `tangent_kernel`

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
            return SharedForward(model, outputs, check=check).run(batch.inputs, generator)
        return _exact(function, batch, budget_bytes, check)


def _exact(
    function: NetworkFunction, batch: Batch, budget_bytes: int | None, check: Check
) -> Tensor:
    of_chain = _exact_of_chain(function, batch, budget_bytes, check)
    if of_chain is not None:
        return of_chain
    features = CheckedFeatures(function, batch, budget_bytes, check)
    like = features.sizes.like
    workspace, total = norm_workspace(like), like.new_zeros((), dtype=torch.float64)
    parts = blocks(len(batch), features.sizes.bytes_per_example, features.budget_bytes)
    for rows in parts:
        found = features.of(batch[rows], len(parts) == 1)
        factors = [factor for layer in found.layers.values() for factor in layer.values()]
        total += squared_norms(factors, workspace)
    return total


def _exact_of_chain(
    function: NetworkFunction, batch: Batch, budget_bytes: int | None, check: Check
) -> Tensor | None:
    """The exact trace where every forward is a plain chain of linear layers, else None."""
    widths = []
    for module in parameterised(function.model).values():
        if type(module) is not nn.Linear:
            return None
        widths.append(module.out_features)
    if not _is_chain(function, function(first_few(batch))):
        return None
    weight = next(iter(function.parameters.values()))
    bytes_each = (2 + 3 * widths[-1]) * sum(widths) * weight.element_size()
    budget = budget_or_default(budget_bytes, function.device)
    check_independent(function, batch, check)
    total = weight.new_zeros((), dtype=torch.float64)
    for rows in blocks(len(batch), bytes_each, budget):
        chain = chain_of(function(batch[rows]), function.parameters.values())
        if chain is None:
            return None
        total += squared_length(chain, unit_vectors(chain))
    return total


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
