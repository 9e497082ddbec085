"""The representations by name, and the blocks that a layer gets.

``dense``           the matrix of all parameters
``low_rank``        the gradients of all, J^T J / n
``implicit``        products only, nothing kept but forwards
``block_diagonal``  a matrix a layer
``diagonal``        a number a parameter
``quasi_diagonal``  the diagonal, and each bias with the weights of its unit
``kfac``            a Kronecker product a layer
``ekfac``           a diagonal in its eigenbasis

Weights of linear layers and convolutions have Kronecker factors. What has none (norms, scales,
tables of words) is a block up to 2,000 parameters, else a diagonal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from torch import Tensor

from ntkexp.curvature.block import Block
from ntkexp.curvature.dense import Dense
from ntkexp.curvature.diagonal import Diagonal, QuasiDiagonal
from ntkexp.curvature.kron import Layout, pieces
from ntkexp.curvature.kronecker import Ekfac, Kfac
from ntkexp.curvature.low_rank import LowRank
from ntkexp.errors import UserError
from ntkexp.tangent.factors import Direct, Factor, Outer
from ntkexp.tangent.positions import Indices

WHOLE = ("dense", "low_rank", "implicit")
BY_LAYER = ("block_diagonal", "diagonal", "quasi_diagonal", "kfac", "ekfac")
LARGEST_BLOCK = 2000


def check_kind(kind: str, layer: str | None, of: str) -> None:
    """Refuse a kind that there is not, and of a single layer those of the whole matrix."""
    accepted = BY_LAYER if layer is not None else (*WHOLE, *BY_LAYER)
    if kind not in accepted:
        where = "" if layer is None else f" of layer {layer}"
        raise UserError(f"kind={kind!r}{where}: expected one of {', '.join(accepted)}")
    if kind == "kfac" and of == "covariance":
        raise UserError(
            "kind=kfac of=covariance: factors have no mean to subtract; expected kind=ekfac, or "
            "of=empirical"
        )


def blocks_of(kind: str, factors: Mapping[str, Factor], sua: bool) -> Iterator[Block]:
    """The blocks of a layer with these factors; of the whole network for `dense` and `low_rank`."""
    names = [*factors]
    if kind == "low_rank":
        yield LowRank(names)
    elif kind in ("dense", "block_diagonal"):
        yield _dense(names, factors)
    elif kind == "diagonal":
        yield Diagonal(names)
    elif kind == "quasi_diagonal":
        yield from _quasi_diagonal(factors)
    else:
        yield from _kronecker(Ekfac if kind == "ekfac" else Kfac, factors, sua)


def _dense(names: Sequence[str], factors: Mapping[str, Factor]) -> Dense:
    first = factors[names[0]]
    like: Tensor = first.values if isinstance(first, Direct) else first.v
    return Dense(names, like, sum(factors[name].parameters for name in names))


def _quasi_diagonal(factors: Mapping[str, Factor]) -> Iterator[Block]:
    left = {*factors}
    for weight, bias, layout in _with_bias(factors):
        yield QuasiDiagonal([weight, bias], layout)
        left -= {weight, bias}
    if left:
        yield Diagonal([name for name in factors if name in left])


def _with_bias(factors: Mapping[str, Factor]) -> Iterator[tuple[str, str, Layout]]:
    """A weight and a bias for each of its units."""
    for name, factor in factors.items():
        if isinstance(factor, Outer) and factor.bias and not isinstance(factor.u, Indices):
            yield name, factor.bias, Layout.of(factor)
        bias = f"{name.removesuffix('weight')}bias"
        if isinstance(factor, Direct) and name.endswith("weight") and bias in factors:
            units = factors[bias].parameters
            if factor.parameters % units == 0:
                yield name, bias, Layout(1, units, factor.parameters // units, bias=True)


def _kronecker(kind: type[Kfac], factors: Mapping[str, Factor], sua: bool) -> Iterator[Block]:
    left = {*factors}
    for name, factor in factors.items():
        if not isinstance(factor, Outer) or isinstance(factor.u, Indices):
            continue
        both = [name, factor.bias] if factor.bias else [name]
        left -= {*both}
        if len(pieces(factor, sua)) == 1:
            yield kind(both, factor, name, 0, sua)
        else:
            yield from (kind([part], factor, name, i, sua) for i, part in enumerate(both))
    rest = [name for name in factors if name in left]
    if sum(factors[name].parameters for name in rest) > LARGEST_BLOCK:
        yield Diagonal(rest)
    elif rest:
        yield _dense(rest, factors)
