"""Phi v and Phi^T u, without Phi."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from ntkexp.errors import UserError
from ntkexp.tangent.backwards import drawn
from ntkexp.tangent.batch import Batch, Inputs, Outputs
from ntkexp.tangent.fallback import jacobians
from ntkexp.tangent.function import (
    NetworkFunction,
    check_examples_independent,
    check_shapes,
    trainable,
)
from ntkexp.tangent.memory import default_budget
from ntkexp.tangent.state import preserve_model_state


def push_forward(
    model: nn.Module,
    inputs: Inputs,
    direction: Mapping[str, Tensor],
    *,
    outputs: Outputs = None,
) -> Tensor:
    """Phi v, (n, k): how the outputs move, to first order, when the parameters move along v.

    `direction` has a tensor for some or all trainable parameters, by name; the others stand still.
    Phi^T u is linear in u, so Phi v = d <Phi^T u, v> / du: one backward, differentiated once more.

    >>> net = nn.Linear(2, 1, bias=False)
    >>> push_forward(net, torch.tensor([[3.0, 4.0]]), {"weight": torch.tensor([[1.0, 1.0]])})
    tensor([[7.]])
    """
    parameters = trainable(model)
    check_examples_independent(model)
    unknown = sorted(set(direction) - set(parameters))
    if unknown or not direction:
        raise UserError(f"direction: {unknown or 'nothing'} given; trainable are {[*parameters]}")
    points = [parameters[name] for name in direction]
    check_shapes("direction", direction, parameters)
    tangents = [v.detach().to(p) for v, p in zip(direction.values(), points, strict=True)]
    # Fused attention has no second derivative.
    with preserve_model_state(model), sdpa_kernel(SDPBackend.MATH):
        function, batch = NetworkFunction(model, outputs), Batch.of(inputs)
        values = function(batch)
        moved = _twice_differentiated(values, points, tangents)
        if moved is not None:
            return moved
        rows = jacobians(function, batch, [*direction], default_budget(values.device))
        parts = [rows[name].values @ v.flatten() for name, v in zip(rows, tangents, strict=True)]
        return torch.stack(parts).sum(0)


def _twice_differentiated(
    values: Tensor, points: list[nn.Parameter], tangents: list[Tensor]
) -> Tensor | None:
    """Phi v; None where an operation's derivative has no derivative of its own."""
    u = torch.zeros_like(values, requires_grad=True)
    try:
        pulled = torch.autograd.grad(
            values, points, u, create_graph=True, allow_unused=True, materialize_grads=True
        )
        moving = [(g, v) for g, v in zip(pulled, tangents, strict=True) if g.requires_grad]
        if moving:
            moved = torch.autograd.grad(
                [g for g, _ in moving], u, [v for _, v in moving], retain_graph=True
            )[0].detach()
        else:
            moved = torch.zeros_like(values)
    except RuntimeError:
        return None
    # A derivative computed outside of autograd's sight looks like a constant: <u, Phi v> tells.
    w = drawn(values)
    pulled = torch.autograd.grad(
        values, points, w, retain_graph=True, allow_unused=True, materialize_grads=True
    )
    parts = torch.stack([(g * v).sum().double() for g, v in zip(pulled, tangents, strict=True)])
    sizes = torch.stack([(g * v).abs().sum() for g, v in zip(pulled, tangents, strict=True)])
    rounding = 1e3 * torch.finfo(values.dtype).eps * (sizes.sum() + (w * moved).abs().sum())
    return moved if (parts.sum() - (w * moved).sum()).abs() <= rounding + 1e-30 else None


def pull_back(
    model: nn.Module, inputs: Inputs, cotangent: Tensor, *, outputs: Outputs = None
) -> dict[str, Tensor]:
    """Phi^T u = sum_ic u_ic grad f_ic by parameter, u (n, k) or flat: one backward.

    >>> net = nn.Linear(2, 1, bias=False)
    >>> pull_back(net, torch.tensor([[3.0, 4.0]]), torch.tensor([[2.0]]))
    {'weight': tensor([[6., 8.]])}
    """
    check_examples_independent(model)
    with preserve_model_state(model):
        function = NetworkFunction(model, outputs)
        return _pulled(function(Batch.of(inputs)), function.parameters, cotangent)


def _pulled(
    values: Tensor, parameters: dict[str, nn.Parameter], cotangent: Tensor
) -> dict[str, Tensor]:
    if tuple(cotangent.shape) not in (tuple(values.shape), (values.numel(),)):
        raise UserError(
            f"cotangent has shape {tuple(cotangent.shape)}; expected that of the outputs, "
            f"{tuple(values.shape)}, or flat"
        )
    grads = torch.autograd.grad(
        values,
        list(parameters.values()),
        cotangent.reshape(values.shape).to(values),
        retain_graph=True,
        allow_unused=True,
        materialize_grads=True,
    )
    return {name: grad.detach() for name, grad in zip(parameters, grads, strict=True)}
