"""A forward and backward over one or two examples before the real ones.

It tells the sizes, so memory can be planned, and it is the oracle the fast rules are held against:
for any cotangent u, the plain gradient of sum_ic u_ic f_ic must be sum_ic u_ic grad f_ic as the
recorded pieces have it, parameter by parameter. A use of a weight that was not seen, or an axis
read wrongly, cannot pass.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from ntkexp.errors import UserError
from ntkexp.tangent.calls import Call, parameterised, recorded
from ntkexp.tangent.factors import Factor
from ntkexp.tangent.outputs import Outputs, chosen
from ntkexp.tangent.rules import RULES
from ntkexp.tangent.rules.norm import NormRule

EXAMPLES = 2


@dataclass
class Rehearsal:
    """What two examples told: outputs, a cotangent and its gradients, memory per example."""

    values: Tensor  # (m, k)
    cotangent: Tensor  # (m, k)
    gradients: dict[str, Tensor]
    bytes_per_example: int
    layout: torch.memory_format

    @property
    def outputs(self) -> int:
        return self.values.shape[1]

    def refuse_difference(self, values: Tensor) -> None:
        """The same examples within the whole batch must give the same outputs."""
        refuse_difference(self.values, values)

    def within(self, values: Tensor, parameters: dict[str, nn.Parameter]) -> Rehearsal:
        """The same cotangent's gradients as the forward of the whole batch, `values`, has them."""
        cotangent = torch.zeros_like(values)
        cotangent[: len(self.cotangent)] = self.cotangent
        gradients = _gradients(values, parameters, cotangent)
        return replace(self, gradients=gradients)

    def agrees(self, name: str, factor: Factor) -> bool:
        """Whether the recorded pieces of a parameter give its true gradient."""
        truth = self.gradients[name]
        pieces = factor.part(slice(0, len(self.values))).pulled_back(self.cotangent)
        if pieces.numel() != truth.numel():
            return False
        error = torch.linalg.vector_norm(pieces - truth)
        return bool(error <= _tolerance(truth) * torch.linalg.vector_norm(truth) + 1e-30)


def _tolerance(like: Tensor) -> float:
    return 1e-6 if like.dtype == torch.float64 else 5e-3


def close(values: Tensor, others: Tensor) -> bool:
    tolerance = _tolerance(values)
    return torch.allclose(values, others, tolerance, tolerance * float(values.abs().max()) + 1e-30)


def _numbers(call: Call, outputs: int) -> int:
    """What a call keeps: activations, and k gradients of its output where features need them.

    A norm's are summed as they come.
    """
    rule = RULES.get(type(call.module))
    norm = rule is not None and issubclass(rule, NormRule)
    return call.shape.numel() * (3 if norm else outputs + 2) + call.input.numel()


def first_few(inputs: Tensor) -> Tensor:
    """Two examples; of two only one, to notice coupling."""
    return inputs[: EXAMPLES if len(inputs) != EXAMPLES else 1].clone()


def refuse_difference(alone: Tensor, values: Tensor) -> None:
    """Outputs (m, k) of the first examples alone must be those (n, k) within the whole batch."""
    if not close(values[: len(alone)].detach(), alone.detach()):
        raise UserError(
            "the model's outputs for the same inputs differ between two calls: it is random, "
            "or couples the examples of a batch; make it deterministic, or ask for "
            "batch_function=True"
        )


def rehearse(
    model: nn.Module, inputs: Tensor, outputs: Outputs, parameters: dict[str, nn.Parameter]
) -> Rehearsal:
    """One forward and backward of the first examples."""
    few = first_few(inputs)
    with recorded(parameterised(model)) as calls:
        values = chosen(model(few), outputs, len(few))
    # A generator of its own: the caller's random state is none of our business.
    generator = torch.Generator().manual_seed(0)
    cotangent = torch.randn(values.shape, generator=generator, dtype=torch.float64)
    cotangent = cotangent.to(values.device, values.dtype)
    layout = torch.contiguous_format
    if any(isinstance(call.module, nn.Conv2d) for call in calls):
        layout = _layout(model, few, outputs, values.detach())
    numbers = sum(_numbers(call, values.shape[1]) for call in calls)
    return Rehearsal(
        values=values.detach(),
        cotangent=cotangent,
        gradients=_gradients(values, parameters, cotangent),
        bytes_per_example=numbers * values.element_size() // len(few) + 1,
        layout=layout,
    )


def _gradients(
    values: Tensor, parameters: dict[str, nn.Parameter], cotangent: Tensor
) -> dict[str, Tensor]:
    if not values.requires_grad:
        return {name: torch.zeros_like(p).flatten() for name, p in parameters.items()}
    found = torch.autograd.grad(
        values,
        list(parameters.values()),
        cotangent,
        retain_graph=True,
        allow_unused=True,
        materialize_grads=True,
    )
    return {name: grad.detach().flatten() for name, grad in zip(parameters, found, strict=True)}


def _layout(model: nn.Module, few: Tensor, outputs: Outputs, values: Tensor) -> torch.memory_format:
    """How images should lie in memory, if the model gives the same outputs then.

    With channels last a processor's convolutions go backwards in three quarters of the time
    (VGG19). A model that takes `view` of its activations may refuse it.
    """
    if few.dim() != 4 or few.device.type != "cpu" or few.dtype != torch.float32:
        return torch.contiguous_format
    try:
        with torch.no_grad():
            turned = model(few.contiguous(memory_format=torch.channels_last))
            same = close(chosen(turned, outputs, len(few)), values)
    except RuntimeError:
        same = False
    return torch.channels_last if same else torch.contiguous_format
