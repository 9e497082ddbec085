"""The gradients of a network's one output at many examples, as a few matrices that stay in memory.

A linear layer's weight has the gradient v_i u_i^T at example i, u_i its inputs and v_i the gradient
of its outputs; a convolution's gradient is kept as it is. From these matrices come the kernel,

    K_ij = sum over linear layers <u_i, u_j> <v_i, v_j> + <d_i, d_j>,

the function's change along dw, <dw, grad f_i>, and sums of gradients, sum_i s_i grad f_i: nothing
goes through the network again. MLPs and small convolutional networks have some 4,000 numbers an
example, for 10^5 weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod

import torch
from torch import Tensor, nn

from ntkexp.errors import UserError
from ntkexp.machine import available_bytes, refuse_beyond
from ntkexp.tangent.batch import Batch, Inputs
from ntkexp.tangent.factors import Outer
from ntkexp.tangent.features import Features
from ntkexp.tangent.positions import everything
from ntkexp.tangent.tangent_features import TangentFeatures

EXAMPLES_AT_ONCE = 500
# The share of the free memory that they may take.
SHARE = 0.8


@dataclass(frozen=True)
class Linear:
    """A weight and its bias, "" without one: u (n, K) and v (n, O)."""

    weight: str
    bias: str
    u: Tensor
    v: Tensor


@dataclass(frozen=True)
class StoredFactors:
    """Gradients of n examples: of linear layers, and outright `d` (n, P) of all other parameters,
    side by side in the order of `direct`, which has their shapes.

    >>> net = nn.Linear(2, 1)
    >>> stored = StoredFactors.of(net, torch.tensor([[3.0, 4.0], [1.0, 0.0]]))
    >>> stored.gram(slice(0, 2), slice(0, 2))       # <x, x'> + 1
    tensor([[26.,  4.],
            [ 4.,  2.]])
    >>> stored.push({"weight": torch.ones(1, 1, 2), "bias": torch.zeros(1, 1)})
    tensor([[7., 1.]])
    """

    linear: tuple[Linear, ...]
    direct: Mapping[str, tuple[int, ...]]
    d: Tensor

    @classmethod
    def of(cls, network: nn.Module, inputs: Tensor) -> StoredFactors:
        """The gradients at `inputs` (n, ...). Their size is counted first."""
        features = TangentFeatures(network, check=False)
        first = first_two(features, inputs)
        needed = len(inputs) * sum(part[0].nbytes for part in first.tensors())
        refuse_beyond(
            f"{len(inputs):,} examples", "their gradients", needed, SHARE * available_bytes()
        )
        return filled(first, len(inputs), pieces(features, inputs, EXAMPLES_AT_ONCE))

    def tensors(self) -> Iterator[Tensor]:
        for layer in self.linear:
            yield from (layer.u, layer.v)
        yield self.d

    def __len__(self) -> int:
        return len(self.d)

    def at(self, numbers: Tensor | slice) -> StoredFactors:
        """The factors of some examples."""
        layers = self.linear
        linear = tuple(replace(layer, u=layer.u[numbers], v=layer.v[numbers]) for layer in layers)
        return replace(self, linear=linear, d=self.d[numbers])

    def gram(self, rows: slice, columns: slice) -> Tensor:
        """The kernel of examples `rows` with `columns`."""
        total = self.d[rows] @ self.d[columns].t()
        for layer in self.linear:
            inputs = (layer.u[rows] @ layer.u[columns].t()).add_(1 if layer.bias else 0)
            total.addcmul_(inputs, layer.v[rows] @ layer.v[columns].t())
        return total

    def push(self, changes: Mapping[str, Tensor]) -> Tensor:
        """(M, n): the change of f_i to first order, <dw_m, grad f_i>, for M changes of the weights,
        which have shapes (M, ...)."""
        many = len(next(iter(changes.values())))
        total = self.d.new_zeros(len(self), many)
        if self.direct:
            total += self.d @ torch.cat([changes[name].flatten(1) for name in self.direct], 1).t()
        for layer in self.linear:
            moved = (layer.u @ changes[layer.weight].flatten(0, 1).t()).view(len(self), many, -1)
            if layer.bias:
                moved += changes[layer.bias]
            total += torch.bmm(moved, layer.v.unsqueeze(2)).squeeze(2)
        return total.t()

    def pull(self, slopes: Tensor) -> dict[str, Tensor]:
        """sum_i s_mi grad f_i by parameter, (M, ...), from `slopes` (M, n)."""
        many, summed = len(slopes), dict[str, Tensor]()
        if self.direct:
            parts = torch.split(slopes @ self.d, [prod(shape) for shape in self.direct.values()], 1)
            for (name, shape), part in zip(self.direct.items(), parts, strict=True):
                summed[name] = part.reshape(many, *shape)
        for layer in self.linear:
            weighted = slopes.t().unsqueeze(2) * layer.v.unsqueeze(1)  # (n, M, O)
            products = weighted.flatten(1).t() @ layer.u
            summed[layer.weight] = products.view(many, layer.v.shape[1], layer.u.shape[1])
            if layer.bias:
                summed[layer.bias] = weighted.sum(0)
        return summed


def first_two(features: TangentFeatures, inputs: Inputs) -> StoredFactors:
    """The factors of two examples, whose forms all have; refused of several outputs."""
    few = Batch.of(inputs)[:2]
    found = features.factors(few.inputs)
    if found.outputs != 1:
        raise UserError(f"factors are kept of one output, the network has {found.outputs}")
    return _matrices(found, features.model)


def pieces(
    features: TangentFeatures, inputs: Inputs, most: int
) -> Iterator[tuple[slice, StoredFactors]]:
    """The factors of all inputs, of `most` examples at a time and no more than fit."""
    start = 0
    for part in features.in_blocks(inputs, most):
        yield slice(start, start + part.examples), _matrices(part, features.model)
        start += part.examples


def filled(
    first: StoredFactors, count: int, parts: Iterator[tuple[slice, StoredFactors]]
) -> StoredFactors:
    """The factors of `count` examples in the form of the `first`, out of their parts."""
    layers = [
        replace(layer, u=_room(layer.u, count), v=_room(layer.v, count)) for layer in first.linear
    ]
    whole = replace(first, linear=tuple(layers), d=_room(first.d, count))
    for rows, part in parts:
        for room, values in zip(whole.tensors(), part.tensors(), strict=True):
            room[rows] = values
    return whole


def _room(like: Tensor, examples: int) -> Tensor:
    return like.new_empty(examples, like.shape[1])


def _matrices(features: Features, model: nn.Module) -> StoredFactors:
    """The factors of some examples as matrices."""
    shapes = {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}
    factors = features.by_parameter
    weights = {
        name: f
        for name, f in factors.items()
        if isinstance(f, Outer) and len(shapes[name]) == 2 and _is_linear(f)
    }
    biases = {f.bias for f in weights.values() if f.bias}
    linear = tuple(
        Linear(name, f.bias, everything(f.u).flatten(1).contiguous(), f.v.flatten(1))
        for name, f in weights.items()
    )
    direct = [name for name in factors if name not in weights and name not in biases]
    gradients = [factors[name].jacobian().flatten(1) for name in direct]
    d = torch.cat(gradients, 1) if direct else linear[0].v.new_empty(features.examples, 0)
    return StoredFactors(linear, {name: shapes[name] for name in direct}, d)


def _is_linear(factor: Outer) -> bool:
    """True for one outer product an example, stored as (outputs, inputs)."""
    return factor.v.shape[2] == factor.v.shape[4] == 1 and not factor.swapped
