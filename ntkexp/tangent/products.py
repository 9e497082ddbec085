"""Phi v and Phi^T u, without Phi, and both as an operator of scipy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from ntkexp.errors import UserError
from ntkexp.tangent.backwards import first_line, random_cotangent
from ntkexp.tangent.batch import Batch, Inputs, Outputs
from ntkexp.tangent.fallback import jacobians
from ntkexp.tangent.function import (
    NetworkFunction,
    check_examples_independent,
    check_shapes,
    only_these,
    trainable,
)
from ntkexp.tangent.memory import default_budget
from ntkexp.tangent.state import preserve_model_state

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator


def push_forward(
    model: nn.Module,
    inputs: Inputs,
    direction: Mapping[str, Tensor],
    *,
    outputs: Outputs = None,
) -> Tensor:
    """Phi v, (n, k): how the outputs move, to first order, when the parameters move along v.

    `direction` has a tensor for some or all trainable parameters, by name; the others stand still.
    Phi^T u is linear in u, so Phi v = d <Phi^T u, v> / du: one backward, differentiated once more
    (Townsend, "A new trick for calculating Jacobian vector products", 2017).

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
        terms = [rows[name].values @ v.flatten() for name, v in zip(rows, tangents, strict=True)]
        return torch.stack(terms).sum(0)


def _twice_differentiated(
    values: Tensor, points: list[nn.Parameter], tangents: list[Tensor]
) -> Tensor | None:
    """Phi v; None where an operation's derivative has no derivative of its own."""
    try:
        moved = _Adjoint(values, points).moved(tangents)
    except RuntimeError:
        return None
    # A derivative computed outside of autograd's sight looks like a constant: <u, Phi v> tells.
    w = random_cotangent(values)
    pulled = _pulled_back(values, points, w)
    terms = torch.stack([(g * v).sum().double() for g, v in zip(pulled, tangents, strict=True)])
    sizes = torch.stack([(g * v).abs().sum() for g, v in zip(pulled, tangents, strict=True)])
    rounding = 1e3 * torch.finfo(values.dtype).eps * (sizes.sum() + (w * moved).abs().sum())
    return moved if (terms.sum() - (w * moved).sum()).abs() <= rounding + 1e-30 else None


class _Adjoint:
    """Phi^T u as a graph in u, which is differentiated by u for every Phi v."""

    def __init__(self, values: Tensor, points: list[nn.Parameter]) -> None:
        self.u = torch.zeros_like(values, requires_grad=True)
        self.pulled = _pulled_back(values, points, self.u, create_graph=True)

    def moved(self, tangents: Sequence[Tensor]) -> Tensor:
        pairs = [(g, v) for g, v in zip(self.pulled, tangents, strict=True) if g.requires_grad]
        if not pairs:
            return torch.zeros_like(self.u)
        graphs, along = zip(*pairs, strict=True)
        return torch.autograd.grad(graphs, self.u, along, retain_graph=True)[0].detach()


def _pulled_back(
    values: Tensor, points: list[nn.Parameter], cotangent: Tensor, *, create_graph: bool = False
) -> tuple[Tensor, ...]:
    """Phi^T u, a tensor for each parameter."""
    return torch.autograd.grad(
        values,
        points,
        cotangent,
        retain_graph=True,
        create_graph=create_graph,
        allow_unused=True,
        materialize_grads=True,
    )


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
        values, parameters = function(Batch.of(inputs)), function.parameters
        if tuple(cotangent.shape) not in (tuple(values.shape), (values.numel(),)):
            raise UserError(
                f"cotangent has shape {tuple(cotangent.shape)}; expected that of the outputs, "
                f"{tuple(values.shape)}, or flat"
            )
        u = cotangent.reshape(values.shape).to(values)
        grads = _pulled_back(values, [*parameters.values()], u)
        return {name: grad.detach() for name, grad in zip(parameters, grads, strict=True)}


def tangent_operator(
    model: nn.Module,
    inputs: Inputs,
    *,
    outputs: Outputs = None,
    parameters: Sequence[str] | None = None,
) -> LinearOperator:
    """Phi as scipy's LinearOperator, (n c, P): rows as in the kernel, columns the trainable
    parameters one after the other. The forward is kept, so that a product is one backward; once
    weights have changed, the operator is to be made anew.

    `scipy.sparse.linalg.svds(phi, k=5)` has the leading directions, and sigma^2 are the leading
    eigenvalues of K = `phi @ phi.T`.

    >>> phi = tangent_operator(nn.Linear(2, 1, bias=False), torch.tensor([[3.0, 4.0]]))
    >>> phi.shape, (phi @ [1.0, 1.0]).tolist(), (phi.T @ [2.0]).tolist()
    ((1, 2), [7.0], [6.0, 8.0])
    """
    from scipy.sparse.linalg import LinearOperator

    check_examples_independent(model)
    with preserve_model_state(model), sdpa_kernel(SDPBackend.MATH), only_these(model, parameters):
        function = NetworkFunction(model, outputs)
        values, points = function(Batch.of(inputs)), [*function.parameters.values()]
        if _twice_differentiated(values, points, [*map(random_cotangent, points)]) is None:
            raise UserError(
                "an operation of the model has no second derivative; push_forward and pull_back "
                "do without"
            )
        adjoint = _Adjoint(values, points)
    sizes = [point.numel() for point in points]

    def product(vector: NDArray[Any], apply: Callable[[Tensor], Tensor]) -> NDArray[Any]:
        tensor = torch.as_tensor(np.asarray(vector).ravel()).to(values)
        with preserve_model_state(model):
            try:
                return apply(tensor).cpu().numpy()
            except RuntimeError as error:
                raise UserError(f"{first_line(error)}: make the operator anew") from error

    def pushed(vector: Tensor) -> Tensor:
        pairs = zip(torch.split(vector, sizes), points, strict=True)
        return adjoint.moved([part.view_as(point) for part, point in pairs]).flatten()

    def pulled(vector: Tensor) -> Tensor:
        return torch.cat(
            [g.flatten() for g in _pulled_back(values, points, vector.view_as(values))]
        )

    return LinearOperator(
        (values.numel(), sum(sizes)),
        matvec=lambda vector: product(vector, pushed),
        rmatvec=lambda vector: product(vector, pulled),
        dtype=str(values.dtype).removeprefix("torch."),
    )
