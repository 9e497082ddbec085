"""Rules for single operations of the graph, for parameters that no module's rule covers.

A parameter may be used by a function (attention's projections), broadcast (a class token, a layer
scale), or enter through a computation on parameters alone (a parametrised weight). The use is an
operation whose output has an axis of examples; with g the gradient of its output, flat over what
it is broadcast along,

    y = x S           grad_S f_i = sum over the rows d of example i of x_d^T g_d
    y = S * z or S+z  grad_S f_i = the sum of g z (or g) over example i's part of the broadcast

and for S = s(parameters) the gradients by the parameters are those by S, times the derivative of s.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.autograd.graph import Node
from torch.nn import functional

from ntkexp.tangent.factors.factor import Direct, Factor, Outer
from ntkexp.tangent.factors.positions import Columns, Patches
from ntkexp.tangent.gradients.graph import ExampleAxis, output_shape
from ntkexp.tangent.rules.uses import UnfitError

# From output gradients (k, *shape) to a factor; with rows ordered by example first or last.
Build: TypeAlias = Callable[[Tensor, bool], Factor]
# The sign of the second term.
SUMS = {"AddBackward0": 1.0, "SubBackward0": -1.0}


@dataclass
class Operation:
    """A node that uses the shared tensor S as its input number `index`."""

    node: Node
    index: int
    shape: torch.Size  # of S
    axis: ExampleAxis
    examples: int

    def build(self) -> Build:
        """How its output gradients become a factor of S; UnfitError if it is not known."""
        name = self.node.name()
        if name == "MmBackward0" and self.index == 1:
            return self._matrix(self._saved("self"))
        if name == "AddmmBackward0" and self.index == 2 and self._plain_addmm():
            return self._matrix(self._saved("mat1"))
        if name == "AddmmBackward0" and self.index == 0 and self._plain_addmm():
            return self._broadcast(None)
        if name in SUMS and (self.index == 0 or self._saved("alpha") == 1):
            return self._broadcast(None, SUMS[name] if self.index else 1.0)
        if name == "MulBackward0":
            return self._broadcast(self._saved("other" if self.index == 0 else "self"))
        if name == "DivBackward0":
            divisor = self._saved("other")
            by = 1 / divisor if self.index == 0 else -self._saved("self") / divisor**2
            return self._broadcast(by)
        if name == "PreluKernelBackward0" and self.index == 1:
            return self._broadcast(self._saved("self").clamp(max=0))
        if name == "NativeLayerNormBackward0" and self.index in (1, 2):
            centred = self._saved("input") - self._saved("result1")
            return self._broadcast(None if self.index == 2 else centred * self._saved("result2"))
        if name == "NativeBatchNormBackward0" and self.index in (1, 2):
            if self._saved("training"):
                raise UnfitError
            mean, var = self._saved("running_mean"), self._saved("running_var")
            x, eps = self._saved("input").detach(), self._saved("eps")
            return self._channels(functional.batch_norm(x, mean, var, eps=eps))
        if name == "NativeGroupNormBackward0" and self.index in (1, 2):
            # Not every torch saves eps; all save the mean and 1 / deviation of each group.
            x, mean, scale = (self._saved(one).detach() for one in ("input", "result1", "result2"))
            in_groups = x.reshape(*mean.shape, -1)
            normalised = (in_groups - mean.unsqueeze(2)) * scale.unsqueeze(2)
            return self._channels(normalised.view(x.shape))
        if name in ("ExpandBackward0", "RepeatBackward0"):
            return self._broadcast(None)
        if name == "ConvolutionBackward0" and self.index in (1, 2):
            return self._convolution()
        raise UnfitError

    def _saved(self, name: str) -> Any:
        return getattr(self.node, f"_saved_{name}")

    def _plain_addmm(self) -> bool:
        return bool(self._saved("alpha") == 1 and self._saved("beta") == 1)

    def _matrix(self, inputs: Any) -> Build:
        if not isinstance(inputs, Tensor) or self.axis.axis != 0:
            raise UnfitError
        x = inputs.detach()

        def build(grads: Tensor, examples_first: bool) -> Factor:
            u = self._apart(x, 0, examples_first)  # (n, T, K)
            v = self._apart(grads, 1, examples_first)  # (n, T, k, O)
            return Outer(
                Columns(u.transpose(1, 2).unsqueeze(1)),
                v.permute(0, 2, 3, 1).unsqueeze(2).contiguous(),
                swapped=True,
            )

        return build

    def _broadcast(self, factor: Any, sign: float = 1.0) -> Build:
        out = output_shape(self.node)
        axis = self.axis.axis
        padded = (1,) * (len(out) - len(self.shape)) + tuple(self.shape)
        if len(padded) != len(out) or padded[axis] != 1:
            raise UnfitError
        if any(s not in (1, o) for s, o in zip(padded, out, strict=True)):
            raise UnfitError
        rest = [(s, o) for a, (s, o) in enumerate(zip(padded, out, strict=True)) if a != axis]
        summed = [3 + a for a, (s, o) in enumerate(rest) if s == 1 and o != 1]
        scale = factor.detach() if isinstance(factor, Tensor) else factor

        def build(grads: Tensor, examples_first: bool) -> Factor:
            values = grads if scale is None else grads * scale
            parts = self._apart(values, 1 + axis, examples_first)  # (n, T, k, *rest)
            parts = parts.sum([1, *summed])
            return Direct(sign * parts.reshape(self.examples, len(grads), -1))

        return build

    def _channels(self, normalised: Tensor) -> Build:
        """Scale (index 1) or shift (2) of the channels, axis 1."""
        if self.axis.axis != 0:
            raise UnfitError
        scale = normalised if self.index == 1 else None

        def build(grads: Tensor, examples_first: bool) -> Factor:
            parts = self._apart(grads if scale is None else grads * scale, 1, examples_first)
            summed = parts.flatten(4).sum(4) if parts.dim() > 4 else parts  # (n, T, k, C)
            return Direct(summed.sum(1))

        return build

    def _convolution(self) -> Build:
        if self._saved("transposed") or self.axis != ExampleAxis(0, 1):
            raise UnfitError
        if self.index == 2:
            return lambda grads, _: Direct(grads.flatten(3).sum(3).transpose(0, 1).contiguous())
        out, groups = output_shape(self.node), self._saved("groups")
        patches = Patches(
            self._saved("input").detach(),
            groups,
            tuple(self.shape[2:]),
            tuple(self._saved("stride")),
            tuple(self._saved("dilation")),
            tuple((p, p) for p in self._saved("padding")),
            "zeros",
            tuple(out[2:]),
        )

        def build(grads: Tensor, examples_first: bool) -> Factor:
            k, n, channels = grads.shape[:3]
            v = grads.transpose(0, 1).reshape(n, k, groups, channels // groups, -1)
            return Outer(patches, v)

        return build

    def _apart(self, values: Tensor, axis: int, examples_first: bool) -> Tensor:
        """(..., n T, ...) -> (n, T, ...)."""
        n, times = self.examples, self.axis.times
        values = values.movedim(axis, 0)
        if examples_first:
            return values.reshape(n, times, *values.shape[1:])
        return values.reshape(times, n, *values.shape[1:]).transpose(0, 1)
