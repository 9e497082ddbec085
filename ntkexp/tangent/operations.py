"""The features that single operations of the graph give, one rule for each kind.

Let S be a parameter, or a tensor computed from parameters alone, and y the output of an operation
on it, g the gradient of an output f of the network by y.

    y = x S, y = conv(x, S), y = S[x]     grad_S f = sum over positions d of g_d u_d^T   (`Outers`)
    y = x_hat * S,  y = z + S, ...        grad_S f = sum of g * x_hat, g, ... over all axes along
                                          which S is stretched                           (`Sums`)

u_d is the input at position d: a row of x, the patch of x under the kernel, a one-hot vector.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor
from torch.autograd.graph import GradientEdge, Node
from torch.nn import functional

from ntkexp.tangent.factors import Direct, Factor, Outer
from ntkexp.tangent.memory import in_huge_pages
from ntkexp.tangent.positions import Columns, Indices, Patches, Positions, everything

# The sign of the operation's second term.
SUMS = {"AddBackward0": 1.0, "SubBackward0": -1.0}
NORMS = ("NativeBatchNormBackward0", "CudnnBatchNormBackward0", "NativeGroupNormBackward0")


class ExampleAxis(NamedTuple):
    """Axis `axis` of a tensor has n * times entries, `times` for each of n examples."""

    axis: int
    times: int


def output_shape(node: Node, output: int = 0) -> torch.Size:
    metadata: Any = node._input_metadata
    return torch.Size(metadata[output].shape)


class UnfitError(Exception):
    """No rule fits this use of a parameter: it takes the fallback."""


class Rule(Protocol):
    """Gathers what a backward brings to an operation, and makes a factor of it."""

    def receive(self, operation: Operation, output: int, grads: Tensor) -> None:
        """The gradients (m, *shape) of m outputs of the network, from number `output` on."""

    def factor(self) -> Factor: ...


class Operation:
    """An operation of the graph that takes parameters, or tensors computed from them alone.

    `axis` is that of the examples in its output. Where it counts positions as well, (n T), they
    belong to one example side by side, or, `time_first`, are as many rows of all examples.
    """

    def __init__(
        self, node: Node, axis: ExampleAxis, examples: int, outputs: int, time_first: bool
    ) -> None:
        self.node, self.axis, self.time_first = node, axis, time_first
        self.examples, self.outputs = examples, outputs
        self.edge, self.shape = GradientEdge(node, 0), output_shape(node)
        self.rules: dict[int, Rule] = {}

    def want(self, index: int, shape: Sequence[int]) -> None:
        """Gather the features by input number `index`, of a shape; UnfitError if no rule fits."""
        if index not in self.rules:
            self.rules[index] = self._rule(index, tuple(shape))

    def receive(self, output: int, grads: Tensor) -> None:
        for rule in self.rules.values():
            rule.receive(self, output, grads)

    @property
    def flops(self) -> float:
        """Operations of the product in the forward, and in each backward that goes on below it."""
        for rule in self.rules.values():
            if isinstance(rule, Outers) and not isinstance(rule.u, Indices):
                below, _ = self.node.next_functions[1 if self.saved("mat1") is not None else 0]
                passes = 1 + (self.outputs if below is not None else 0)
                return 2.0 * self.shape.numel() * rule.u.features * passes
        return 0.0

    def saved(self, name: str) -> Any:
        """A tensor or number that the operation has kept for its backward, if it has."""
        return getattr(self.node, f"_saved_{name}", None)

    def apart(self, values: Tensor, axis: int) -> Tensor:
        """(..., n T, ...) -> (n, T, ...)."""
        values = values.movedim(axis, 0)
        if self.axis.times == 1:
            return values.unsqueeze(1)
        rest = values.shape[1:]
        if self.time_first:
            return values.reshape(-1, self.examples, *rest).transpose(0, 1)
        return values.reshape(self.examples, -1, *rest)

    def _rule(self, index: int, shape: tuple[int, ...]) -> Rule:
        name, saved = self.node.name(), self.saved
        if name == "MmBackward0" and index == 1:
            return self._matrix(saved("self"))
        if name == "AddmmBackward0" and saved("alpha") == saved("beta") == 1 and index in (0, 2):
            return self._matrix(saved("mat1")) if index == 2 else Sums(self, shape)
        if name == "ConvolutionBackward0" and index in (1, 2):
            return self._convolution(index, shape)
        if name == "EmbeddingBackward0":
            return self._embedding()
        if name == "NativeLayerNormBackward0" and index in (1, 2):
            return Sums(self, shape, self._normalised() if index == 1 else None)
        if name in NORMS and index in (1, 2):
            along_channels = (*shape, *(1,) * (len(self.shape) - 2))
            return Sums(self, along_channels, self._normalised() if index == 1 else None)
        if name in SUMS and (index == 0 or saved("alpha") == 1):
            return Sums(self, shape, None, SUMS[name] if index else 1.0)
        if name == "MulBackward0":
            return Sums(self, shape, saved("other" if index == 0 else "self"))
        if name in ("ExpandBackward0", "RepeatBackward0"):
            return Sums(self, shape)
        raise UnfitError

    def _matrix(self, x: Tensor) -> Rule:
        if self.axis.axis != 0:
            raise UnfitError
        u = self.apart(x.detach(), 0).transpose(1, 2).unsqueeze(1)  # (n, 1, K, T)

        def outers(operation: Operation, grads: Tensor) -> Tensor:
            return operation.apart(grads, 1).permute(0, 2, 3, 1).unsqueeze(2)  # (n, m, 1, O, T)

        return Outers(self, Columns(u), outers, swapped=True)

    def _convolution(self, index: int, shape: tuple[int, ...]) -> Rule:
        if self.saved("transposed") or self.axis.axis != 0:
            raise UnfitError
        space = self.shape[2:]
        if index == 2:
            return Sums(self, (*shape, *(1 for _ in space)))
        groups: int = self.saved("groups")
        patches = Patches(
            self.saved("input").detach(),
            groups,
            tuple(shape[2:]),
            tuple(self.saved("stride")),
            tuple(self.saved("dilation")),
            tuple(self.saved("padding")),
            tuple(space),
        )
        u: Positions = patches
        if self.axis.times > 1:
            rows = self.apart(everything(patches), 0)  # (n, T, G, K, D)
            u = Columns(rows.movedim(1, 3).flatten(3))

        def outers(operation: Operation, grads: Tensor) -> Tensor:
            rows = operation.apart(grads.flatten(3), 1)  # (n, T, m, G O, D)
            n, _, m, channels, _ = rows.shape
            return rows.permute(0, 2, 3, 1, 4).reshape(n, m, groups, channels // groups, -1)

        return Outers(self, u, outers, swapped=False)

    def _embedding(self) -> Rule:
        """y_d = W^T e_{index d}; the row of `padding_idx` takes no gradient."""
        size, padding = self.saved("weight_sym_argsize_0"), self.saved("padding_idx")
        if self.saved("scale_grad_by_freq") or self.saved("sparse"):
            raise UnfitError
        axis = self.axis.axis
        index = self.apart(self.saved("indices"), axis).flatten(1)  # (n, D)
        kept = (index != padding)[:, None, :, None] if 0 <= padding < size else None

        def outers(operation: Operation, grads: Tensor) -> Tensor:
            rows = operation.apart(grads, 1 + axis).movedim(2, 1).flatten(2, -2)  # (n, m, D, E)
            rows = rows if kept is None else rows * kept
            return rows.transpose(2, 3).unsqueeze(2)

        metadata: Any = self.node._input_metadata
        return Outers(self, Indices(index, size, metadata[0].dtype), outers, swapped=True)

    def _normalised(self) -> Tensor:
        """x_hat of a norm over channels. In training mode batch norm couples the examples.

        y / S would fail where S is 0, as in residual branches that begin as the identity.
        """
        x: Tensor = self.saved("input").detach()
        mean: Tensor = self.saved("result1")
        scale: Tensor = self.saved("result2")
        if self.node.name() == "NativeLayerNormBackward0":
            return (x - mean) * scale
        if self.node.name() == "NativeGroupNormBackward0":
            in_groups = x.reshape(*mean.shape, -1)
            return ((in_groups - mean.unsqueeze(2)) * scale.unsqueeze(2)).view(x.shape)
        if self.saved("training") or self.saved("running_mean") is None:
            raise UnfitError
        eps = self.saved("eps") if self.saved("eps") is not None else self.saved("epsilon")
        return functional.batch_norm(
            x, self.saved("running_mean"), self.saved("running_var"), eps=eps
        )


class Outers:
    """v (n, k, G, O, D) of the outer products v_d u_d^T, gathered output by output."""

    def __init__(
        self,
        operation: Operation,
        u: Positions,
        outers: Callable[[Operation, Tensor], Tensor],
        swapped: bool,
    ) -> None:
        self.outputs, self.u, self.outers, self.swapped = operation.outputs, u, outers, swapped
        self.v: Tensor | None = None

    def receive(self, operation: Operation, output: int, grads: Tensor) -> None:
        rows = self.outers(operation, grads)
        if rows.shape[1] == self.outputs:  # all at once; a single one is kept as it comes
            self.v = rows if self.outputs == 1 else rows.contiguous()
            return
        if self.v is None:
            n, _, *rest = rows.shape
            self.v = in_huge_pages(rows.new_empty(n, self.outputs, *rest))
        self.v[:, output : output + rows.shape[1]] = rows

    def factor(self) -> Factor:
        assert self.v is not None
        return Outer(self.u, self.v, swapped=self.swapped)


class Sums:
    """g times `scale`, summed within each example over the axes along which S is stretched."""

    def __init__(
        self, operation: Operation, shape: Sequence[int], scale: Any = None, sign: float = 1.0
    ) -> None:
        self.sign = sign
        self.scale = scale.detach() if isinstance(scale, Tensor) else scale
        axis, out = operation.axis.axis, operation.shape
        padded = (1,) * (len(out) - len(shape)) + tuple(shape)
        pairs = [*zip(padded, out, strict=False)]
        if len(padded) != len(out) or padded[axis] != 1 or any(s not in (1, o) for s, o in pairs):
            raise UnfitError
        rest = [pair for a, pair in enumerate(pairs) if a != axis]
        self.summed = [1, *(3 + a for a, (s, o) in enumerate(rest) if s == 1 and o != 1)]
        self.values: Tensor | None = None

    def receive(self, operation: Operation, output: int, grads: Tensor) -> None:
        scaled = grads if self.scale is None else grads * self.scale
        rows = operation.apart(scaled, 1 + operation.axis.axis)  # (n, T, m, ...)
        outputs = grads.shape[0]
        rows = rows.sum(self.summed).reshape(operation.examples, outputs, -1)
        rows = rows if self.sign == 1 else self.sign * rows
        if outputs == operation.outputs:
            self.values = rows
            return
        if self.values is None:
            self.values = rows.new_empty(operation.examples, operation.outputs, rows.shape[2])
        self.values[:, output : output + outputs] = rows

    def factor(self) -> Factor:
        assert self.values is not None
        return Direct(self.values)
