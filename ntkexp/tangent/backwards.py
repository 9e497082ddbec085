"""Backwards of activations: the gradients of several outputs at places inside the network.

No parameter is among the places, so autograd computes the gradient of none. Factors are compared
with its gradients by parameters: for a random cotangent a, the gradient of sum_ic a_ic f_ic must be
sum_ic a_ic grad f_ic as the factor gives it, up to rounding.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor

from ntkexp.errors import UserError
from ntkexp.machine import on_gpu
from ntkexp.tangent.factors import Factor, Outer
from ntkexp.tangent.graph import passed_through
from ntkexp.tangent.operations import Operation
from ntkexp.tangent.positions import Patches

# Examples whose patches a comparison cuts out of their images at once.
AT_ONCE = 8
# Relative error allowed in a parameter's gradient, and in units of the gradient of all parameters:
# a gradient that is zero in exact arithmetic is nothing but rounding.
TOLERANCE = {torch.float64: (1e-8, 1e-13), torch.float32: (2e-4, 1e-6)}
TOLERANCE_LOW = (5e-2, 1e-2)
TOLERANCE_TF32 = (1e-2, 1e-3)


def output_cotangents(values: Tensor) -> list[Tensor]:
    """The k cotangents (n, k), each of which sums one output over the examples."""
    cotangents = []
    for output in range(values.shape[1]):
        cotangent = torch.zeros_like(values)
        cotangent[:, output] = 1
        cotangents.append(cotangent)
    return cotangents


def receive_gradients(
    values: Tensor, operations: Sequence[Operation], cotangents: Sequence[Tensor], together: bool
) -> None:
    """Give every operation the gradient of its output, for each cotangent of `values`.

    `together` asks for all at once: in a small network an operation costs more to start than to do.
    """
    if not operations:  # torch 2.14 has no gradient of nothing
        return
    if together and len(cotangents) > 1:
        try:
            grads = _together(values, operations, cotangents)
        except RuntimeError:  # an operation that vmap cannot follow
            pass
        else:
            for operation, grad in zip(operations, grads, strict=True):
                shape = (len(cotangents), *operation.shape)
                operation.receive(0, values.new_zeros(shape) if grad is None else grad)
            return
    _one_by_one(values, operations, cotangents)


def _together(
    values: Tensor, operations: Sequence[Operation], cotangents: Sequence[Tensor]
) -> tuple[Tensor, ...]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "There is a performance drop")
        return torch.autograd.grad(
            values,
            [operation.edge for operation in operations],
            torch.stack([*cotangents]),
            retain_graph=True,
            allow_unused=True,
            is_grads_batched=True,
        )


def _one_by_one(
    values: Tensor, operations: Sequence[Operation], cotangents: Sequence[Tensor]
) -> None:
    """A loop of backwards.

    For VGG19 and n = 20 vmap's batch of backwards takes 1.4 times as long on two cores. Gradients
    asked of autograd.grad are all alive until the backward ends: half a gigabyte for ResNet18 on
    100 images. So only the operations at which a backward ends are asked for; the others are given
    their gradients by hooks as the backward passes them. A single backward, as in a training step,
    asks for all: finding out where it ends would cost more than it saves.
    """
    several = len(cotangents) > 1
    nodes = [op.node for op in operations]
    passed = passed_through(values, nodes) if several else [False] * len(nodes)
    ends = [op for op, on_the_way in zip(operations, passed, strict=True) if not on_the_way]
    received: set[int] = set()
    now = 0

    def hook_for(operation: Operation) -> Callable[[tuple[Tensor, ...]], None]:
        def hook(grads: tuple[Tensor, ...]) -> None:
            if (grad := grads[0]) is not None:
                operation.receive(now, grad.unsqueeze(0))
                received.add(id(operation))

        return hook

    with ExitStack() as stack:
        for operation, on_the_way in zip(operations, passed, strict=True):
            if on_the_way:
                handle = operation.node.register_prehook(hook_for(operation))
                stack.callback(handle.remove)
        edges = [operation.edge for operation in ends]
        for now, cotangent in enumerate(cotangents):
            received = set()
            # Given a cotangent, torch imports sympy: half a second of every process.
            grads = torch.autograd.grad(
                (values * cotangent).sum(), edges, retain_graph=True, allow_unused=True
            )
            for operation, grad in zip(ends, grads, strict=True):
                if grad is not None:
                    operation.receive(now, grad.unsqueeze(0))
                    received.add(id(operation))
            for operation in operations:
                if id(operation) not in received:
                    operation.receive(now, values.new_zeros(1, *operation.shape))


class Truth:
    """Autograd's gradients of sum_ic a_ic f_ic, flat, by parameter."""

    def __init__(self, values: Tensor, parameters: Mapping[str, Tensor], cotangent: Tensor) -> None:
        try:
            grads = torch.autograd.grad(
                (values * cotangent).sum(),
                [*parameters.values()],
                retain_graph=True,
                allow_unused=True,
            )
        except RuntimeError as error:
            raise UserError(f"the model cannot be differentiated: {first_line(error)}") from error
        self.gradients: dict[str, Tensor] = {}
        for (name, parameter), grad in zip(parameters.items(), grads, strict=True):
            if grad is not None and grad.is_sparse:
                raise UserError(f"parameter {name} has a sparse gradient, which is not supported")
            full = torch.zeros_like(parameter) if grad is None else grad
            self.gradients[name] = full.detach().flatten()
        norms = [float(torch.linalg.vector_norm(grad)) for grad in self.gradients.values()]
        self.length = sum(norm**2 for norm in norms) ** 0.5

    def agrees(self, name: str, factor: Factor, coefficients: Tensor) -> bool:
        """True where a factor's sum_ic a_ic grad f_ic is the gradient; `coefficients` are a."""
        truth = self.gradients[name]
        rest = truth.clone()
        patches = isinstance(factor, Outer) and isinstance(factor.u, Patches)
        step = AT_ONCE if patches else len(coefficients)
        for start in range(0, len(coefficients), step):
            examples = slice(start, min(start + step, len(coefficients)))
            rest -= factor.part(examples).pulled_back(coefficients[examples])
        relative, of_all = TOLERANCE.get(truth.dtype, TOLERANCE_LOW)
        if in_tf32(truth):
            relative, of_all = TOLERANCE_TF32
        norm = torch.linalg.vector_norm
        allowed = relative * float(norm(truth)) + of_all * self.length + 1e-30
        return bool(norm(rest) <= allowed)


def in_tf32(like: Tensor) -> bool:
    """True where products of such numbers are rounded to 10 bits, as training on a GPU may want."""
    cudnn: Any = torch.backends.cudnn
    settings = (torch.backends.cuda.matmul, cudnn.conv)
    on_device = on_gpu(like.device) and like.dtype == torch.float32
    return on_device and any(setting.fp32_precision == "tf32" for setting in settings)


def random_cotangent(values: Tensor) -> Tensor:
    """A random cotangent of the shape of `values`, the same every time."""
    # A generator of its own: the caller's random state is not to be moved.
    generator = torch.Generator().manual_seed(0)
    cotangent = torch.randn(values.shape, generator=generator, dtype=torch.float64)
    return cotangent.to(values.device, values.dtype)


def first_line(error: Exception) -> str:
    """The reason without torch's hints."""
    return str(error).strip().partition("\n")[0].partition("; ")[0]
