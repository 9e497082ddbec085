"""Convolutions: a position's input is the patch under the kernel."""

from __future__ import annotations

from math import prod

from torch import Tensor
from torch.nn.modules.conv import _ConvNd

from ntkexp.tangent.factors.factor import Direct, Factor, Outer
from ntkexp.tangent.factors.positions import Columns, Patches, Positions, everything
from ntkexp.tangent.passes.calls import Call
from ntkexp.tangent.rules.uses import Received, UnfitError, copies, fold


class ConvRule:
    """y[o, d] = sum_k W[o, k] u[k, d] + b[o], u the patches of the padded input."""

    def __init__(self, call: Call, wanted: frozenset[str], examples: int, outputs: int) -> None:
        module = _module(call)
        copies(call, examples)
        self.examples, self.groups = examples, module.groups
        positions = prod(call.shape[2:]) * (call.shape[0] // examples)
        channels = module.out_channels
        size = (examples, outputs, channels)
        self.u = self._patches(call, module) if "weight" in wanted else None
        self.v = Received((*size, positions), call.input) if "weight" in wanted else None
        self.bias = Received(size, call.input) if "bias" in wanted else None

    def _patches(self, call: Call, module: _ConvNd) -> Positions:
        patches = Patches(
            call.input,
            module.groups,
            tuple(module.kernel_size),
            tuple(module.stride),
            tuple(module.dilation),
            tuple(_padding(module)),
            module.padding_mode,
            tuple(call.shape[2:]),
        )
        if call.shape[0] == self.examples:
            return patches
        return Columns(fold(everything(patches), self.examples))

    def receive(self, output: int, grad: Tensor) -> None:
        grad = fold(grad.flatten(2), self.examples)  # (n, O, D)
        if self.v is not None:
            self.v.take(output, grad)
        if self.bias is not None:
            self.bias.take(output, grad.sum(2))

    def factors(self) -> dict[str, Factor]:
        found: dict[str, Factor] = {}
        if self.v is not None and self.u is not None:
            found["weight"] = Outer(self.u, _grouped(self.v.values, 2, self.groups))
        if self.bias is not None:
            found["bias"] = Direct(self.bias.values)
        return found


def _module(call: Call) -> _ConvNd:
    module = call.module
    assert isinstance(module, _ConvNd)
    if call.input.dim() != len(module.kernel_size) + 2:
        raise UnfitError  # an unbatched image
    return module


def _padding(module: _ConvNd) -> list[tuple[int, int]]:
    if module.padding == "valid":
        return [(0, 0) for _ in module.kernel_size]
    if module.padding == "same":
        totals = [d * (k - 1) for d, k in zip(module.dilation, module.kernel_size, strict=True)]
        return [(total // 2, total - total // 2) for total in totals]
    return [(int(amount), int(amount)) for amount in module.padding]


def _grouped(values: Tensor, axis: int, groups: int) -> Tensor:
    """Split the axis of channels into (groups, channels of a group)."""
    shape = values.shape
    return values.view(*shape[:axis], groups, shape[axis] // groups, *shape[axis + 1 :])
