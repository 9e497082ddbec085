"""Tr K = sum_ic |grad_w f_w(x_i)[c]|^2, exactly or by one backward."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import torch
from torch import Tensor, nn

from ntkexp.errors import UserError
from ntkexp.tangent.batch import Batch, Inputs
from ntkexp.tangent.checks.independence import Check
from ntkexp.tangent.checks.models import check_examples_independent
from ntkexp.tangent.function import NetworkFunction
from ntkexp.tangent.outputs import Outputs
from ntkexp.tangent.passes.guard import preserve_model_state
from ntkexp.tangent.shared_forward import SharedForward, signs
from ntkexp.tangent.tangent_features import TangentFeatures

Estimate: TypeAlias = Literal["signs", "hutchinson"]


def tangent_trace(
    model: nn.Module,
    inputs: Inputs,
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
    if estimate is None:
        features = TangentFeatures(model, outputs=outputs, budget_bytes=budget_bytes, check=check)
        return features.trace(inputs)
    with preserve_model_state(model):
        if estimate == "signs":
            return SharedForward(model, outputs, check=check).run(inputs, generator)
        return _hutchinson(NetworkFunction(model, outputs), Batch.of(inputs), generator)


def _hutchinson(
    function: NetworkFunction, batch: Batch, generator: torch.Generator | None
) -> Tensor:
    values = function(batch)
    grads = torch.autograd.grad(
        values, [*function.parameters.values()], signs(values, generator), allow_unused=True
    )
    squares = [torch.linalg.vector_norm(grad).double() ** 2 for grad in grads if grad is not None]
    return torch.stack(squares).sum()
