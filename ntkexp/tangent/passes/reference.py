"""A forward and a plain backward of one or two examples, before anything else.

It serves two ends. Its sizes tell how much memory an example takes. Its gradients are the truth
the fast rules are compared with: for a random cotangent u, autograd's gradient of sum_ic u_ic f_ic
must equal sum_ic u_ic grad f_ic computed from the rules' factors, for every parameter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from ntkexp.errors import UserError
from ntkexp.machine.gpus import on_gpu
from ntkexp.tangent.batch import Batch
from ntkexp.tangent.checks.models import refuse_sparse
from ntkexp.tangent.factors.factor import Factor
from ntkexp.tangent.function import NetworkFunction
from ntkexp.tangent.gradients.graph import Signature, signature
from ntkexp.tangent.memory.passes import SavedBytes, bytes_of_calls
from ntkexp.tangent.passes.calls import parameterised, recorded

EXAMPLES = 2
# Whose inputs a comparison cuts out of their images together.
AT_ONCE = 8
# Relative error allowed in a parameter's gradient, and in units of the gradient of all parameters:
# a gradient that is zero in exact arithmetic is nothing but rounding.
TOLERANCE = {torch.float64: (1e-8, 1e-13), torch.float32: (2e-4, 1e-6)}
TOLERANCE_LOW = (5e-2, 1e-2)
TOLERANCE_TF32 = (1e-2, 1e-3)
SMALL_BYTES_CPU = 32 * 2**20
SMALL_BYTES_CUDA = 256 * 2**20


@dataclass(frozen=True)
class Sizes:
    """What few examples tell about passes of many: no value of them, only how large they are."""

    examples: int
    outputs: int
    like: Tensor  # of no length, of the outputs' type and device
    bytes_per_example: int
    signature: Signature  # of the graph

    def is_small(self, examples: int) -> bool:
        """Whether starting operations takes longer than doing them: gradients fit the cache."""
        few = SMALL_BYTES_CUDA if on_gpu(self.like.device) else SMALL_BYTES_CPU
        return examples * self.bytes_per_example <= few


@dataclass
class ReferencePass:
    """Outputs of few examples, a cotangent and its true gradients."""

    batch: Batch
    values: Tensor  # (m, k)
    cotangent: Tensor  # (m, k)
    gradients: dict[str, Tensor]
    length: float  # of all gradients together
    sizes: Sizes

    def of_whole_batch(self, function: NetworkFunction, values: Tensor) -> ReferencePass:
        """A cotangent for every example, and its true gradients, in the forward of `values`."""
        cotangent = drawn(values)
        truth = gradients(values, function.parameters, cotangent)
        size = length(truth.values())
        return replace(
            self, values=values.detach(), cotangent=cotangent, gradients=truth, length=size
        )

    def of_same_forward(self, function: NetworkFunction, values: Tensor) -> ReferencePass:
        """The true gradients for the same cotangent, in the forward that gave `values`."""
        cotangent = torch.zeros_like(values)
        cotangent[: len(self.cotangent)] = self.cotangent
        return replace(self, gradients=gradients(values, function.parameters, cotangent))

    def agrees(self, name: str, factor: Factor) -> bool:
        """Whether a parameter's factor gives its true gradient, up to rounding."""
        return self.error(name, factor) <= self.allowed(name)

    def error(self, name: str, factor: Factor) -> float:
        return error(factor, self.cotangent, self.gradients[name])

    def allowed(self, name: str) -> float:
        return allowed(self.gradients[name], self.length)


def error(factor: Factor, cotangent: Tensor, truth: Tensor) -> float:
    """|sum_ic u_ic grad f_ic - truth|, where u (m, k) is of the factor's first m examples."""
    found: Tensor | None = None
    for start in range(0, len(cotangent), AT_ONCE):
        some = slice(start, min(start + AT_ONCE, len(cotangent)))
        pulled = factor.part(some).pulled_back(cotangent[some])
        found = pulled if found is None else found + pulled
    if found is None or found.numel() != truth.numel():
        return float("inf")
    return float(torch.linalg.vector_norm(found - truth))


def allowed(truth: Tensor, all_gradients: float) -> float:
    """How much rounding explains; `all_gradients` is the length of those of all parameters."""
    relative, of_all = TOLERANCE.get(truth.dtype, TOLERANCE_LOW)
    if in_tf32(truth):
        relative, of_all = TOLERANCE_TF32
    return relative * float(torch.linalg.vector_norm(truth)) + of_all * all_gradients + 1e-30


def in_tf32(like: Tensor) -> bool:
    """Whether products of such numbers are rounded to 10 bits, as training on a GPU may want it."""
    cudnn: Any = torch.backends.cudnn
    settings = (torch.backends.cuda.matmul, cudnn.conv)
    on_device = on_gpu(like.device) and like.dtype == torch.float32
    return on_device and any(setting.fp32_precision == "tf32" for setting in settings)


def length(vectors: Iterable[Tensor]) -> float:
    squares = [float(torch.linalg.vector_norm(one)) ** 2 for one in vectors]
    return float(sum(squares) ** 0.5)


def drawn(values: Tensor) -> Tensor:
    """A random cotangent of the shape of `values`, the same every time."""
    # A generator of its own: the caller's random state is not to be moved.
    generator = torch.Generator().manual_seed(0)
    cotangent = torch.randn(values.shape, generator=generator, dtype=torch.float64)
    return cotangent.to(values.device, values.dtype)


def few_of(batch: Batch) -> Batch:
    """The first two examples; of fewer than three, as many more that its size is another.

    >>> few_of(Batch.of(torch.zeros(2, 4))).indices
    tensor([0, 1, 0])
    """
    size = EXAMPLES if len(batch) > EXAMPLES else len(batch) + 1
    return batch[torch.arange(size, device=batch.indices.device) % len(batch)]


def reference_pass(function: NetworkFunction, batch: Batch) -> ReferencePass:
    few, own = few_of(batch), min(EXAMPLES, len(batch))
    saved = SavedBytes(function.model)
    with recorded(parameterised(function.model)) as calls, saved.counting():
        values = function(few)
    cotangent = drawn(values)
    cotangent[own:] = 0
    truth = gradients(values, function.parameters, cotangent)
    kept = saved.bytes + bytes_of_calls(calls, values, function.parameters)
    return ReferencePass(
        batch=few,
        values=values.detach(),
        cotangent=cotangent[:own],
        gradients=truth,
        length=length(truth.values()),
        sizes=Sizes(
            examples=len(few),
            outputs=values.shape[1],
            like=values.detach().new_empty(0),
            bytes_per_example=kept // len(few) + 1,
            signature=signature(values),
        ),
    )


def gradients(
    values: Tensor, parameters: Mapping[str, Tensor], cotangent: Tensor
) -> dict[str, Tensor]:
    """Autograd's own, flat, by parameter."""
    if not values.requires_grad:
        raise UserError(
            "no output depends on a trainable parameter as far as autograd sees: is there a "
            "detach, no_grad or numpy in the forward?"
        )
    try:
        found = torch.autograd.grad(
            values, [*parameters.values()], cotangent, retain_graph=True, allow_unused=True
        )
    except RuntimeError as error:
        raise UserError(f"the model cannot be differentiated: {first_line(error)}") from error
    flat: dict[str, Tensor] = {}
    for (name, parameter), gradient in zip(parameters.items(), found, strict=True):
        if gradient is None:
            gradient = torch.zeros_like(parameter)
        refuse_sparse(name, gradient)
        flat[name] = gradient.detach().flatten()
    return flat


def first_line(error: Exception) -> str:
    """The reason without torch's hints."""
    return str(error).strip().partition("\n")[0].partition("; ")[0]
