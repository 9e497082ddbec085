"""Phi v, Phi^T u and the leading singular vectors of Phi, without Phi."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch
from scipy.sparse.linalg import eigsh
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
from ntkexp.tangent.tangent_features import tangent_kernel

# Up to this size all eigenvectors cost less than an iteration for a few.
DENSE_ROWS = 3000


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


def top_eigenvectors(gram: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The `count` largest eigenvalues, non-increasing, and eigenvectors as columns, in float64.

    >>> values, vectors = top_eigenvectors(torch.diag(torch.tensor([1.0, 3.0, 2.0])), 2)
    >>> values
    tensor([3., 2.], dtype=torch.float64)
    """
    size = len(gram)
    if gram.shape != (size, size):
        raise UserError(f"a kernel of shape {tuple(gram.shape)}: expected a square one")
    if not 1 <= count <= size:
        raise UserError(f"{count} eigenvectors of a {size} x {size} kernel: 1 to {size} can be had")
    if size <= DENSE_ROWS or count > size // 10:
        exact = gram.double()
        values, vectors = torch.linalg.eigh((exact + exact.t()) / 2)
        return values.flip(0)[:count], vectors.flip(1)[:, :count]
    # The vectors of a file-backed kernel come from products with it, in its own precision.
    start = torch.ones(size, dtype=gram.dtype).numpy()
    largest, columns = eigsh(gram.cpu().numpy(), k=count, which="LA", v0=start)
    order = largest.argsort()[::-1].copy()
    return (
        torch.as_tensor(largest[order], dtype=torch.float64, device=gram.device),
        torch.as_tensor(columns[:, order], dtype=torch.float64, device=gram.device),
    )


def right_singular_vectors(
    model: nn.Module,
    inputs: Inputs,
    count: int,
    *,
    outputs: Outputs = None,
    gram: Tensor | None = None,
) -> Iterator[tuple[float, dict[str, Tensor]]]:
    """The leading (sigma_j, v_j) of Phi = sum_j sigma_j u_j v_j^T, in order, v_j by parameter.

    u_j are eigenvectors of the kernel (given as `gram`, or computed), v_j = Phi^T u_j / sigma_j,
    directions in weight space of norm 1. Each costs a backward and the memory of one gradient; the
    iteration ends where sigma is zero to rounding.

    >>> net, x = nn.Linear(2, 1, bias=False), torch.tensor([[3.0, 4.0]])
    >>> [round(sigma, 4) for sigma, v in right_singular_vectors(net, x, 1)]
    [5.0]
    """
    gram = (
        tangent_kernel(model, inputs, outputs=outputs, layers=False).gram if gram is None else gram
    )
    values, vectors = top_eigenvectors(gram, count)
    noise = len(gram) * torch.finfo(gram.dtype).eps * float(values[0])
    for value, vector in zip(values.tolist(), vectors.t(), strict=True):
        if value <= noise:
            return
        pulled = pull_back(model, inputs, vector, outputs=outputs)
        # Not sqrt(value): the norm itself keeps |v| = 1 to rounding.
        length = torch.stack([part.double().square().sum() for part in pulled.values()]).sum()
        sigma = float(length.sqrt())
        yield sigma, {name: part / sigma for name, part in pulled.items()}
