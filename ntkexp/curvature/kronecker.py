"""KFAC and EKFAC: a layer's block as a Kronecker product, or as a diagonal in its eigenbasis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import torch
from torch import Tensor

from ntkexp.curvature.block import Block, Factors
from ntkexp.curvature.kron import Basis, Kronecker, Layout, pieces
from ntkexp.tangent.factors import Outer


class Kfac(Block):
    """T A x B (kron.py). One of the pieces of a weight and its bias: with `sua` there are two."""

    def __init__(self, names: Sequence[str], outer: Outer, weight: str, piece: int, sua: bool):
        super().__init__(names)
        self.weight, self.piece, self.sua = weight, piece, sua
        self.layout = Layout.of(pieces(outer, sua)[piece], sua)
        self.kron = Kronecker(self.layout)

    def _piece(self, factors: Factors) -> Outer:
        outer = factors[self.weight]
        assert isinstance(outer, Outer)
        return pieces(outer, self.sua)[self.piece]

    def add(self, factors: Factors) -> None:
        self.kron.add(self._piece(factors))

    @cached_property
    def basis(self) -> Basis:
        return self.kron.basis()

    def mv(self, rows: Tensor) -> Tensor:
        a, b = self.kron.a, self.kron.b.mean()
        matrices = a.times(self.layout.matrices(rows))
        return self.layout.rows(
            self.kron.positions * torch.einsum("gop,...gspk->...gsok", b, matrices)
        )

    def solve(self, rows: Tensor, damping: float) -> Tensor:
        return self._in_basis(rows, 1 / (self.basis.products() + damping))

    def _in_basis(self, rows: Tensor, scale: Tensor) -> Tensor:
        basis = self.basis
        return self.layout.rows(basis.back(scale * basis.to(self.layout.matrices(rows))))

    def trace(self) -> Tensor:
        a, b = (_traces(moment.mean()) for moment in (self.kron.a, self.kron.b))
        return self.layout.offsets * self.kron.positions * (a * b).sum()

    def frobenius(self) -> Tensor:
        norm = torch.linalg.matrix_norm
        a, b = (norm(moment.mean()) for moment in (self.kron.a, self.kron.b))
        lengths: Tensor = torch.linalg.vector_norm(a * b)
        return math.sqrt(self.layout.offsets) * self.kron.positions * lengths


class Ekfac(Kfac):
    """(U_A x U_B) S* (U_A x U_B)^T, S* = E[((U_A x U_B)^T g)^2]: the diagonal in the eigenbasis
    that is nearest to the block itself. A second pass finds it.
    """

    passes = 2

    def __init__(self, names: Sequence[str], outer: Outer, weight: str, piece: int, sua: bool):
        super().__init__(names, outer, weight, piece, sua)
        self.squares: Tensor | None = None

    def add(self, factors: Factors) -> None:
        if self.squares is None:
            super().add(factors)
        else:
            self.squares += self.basis.squares(self._piece(factors))

    def finish(self, examples: int, mean: Tensor | None) -> None:
        if self.squares is None:
            self.squares = self.basis.a.new_zeros(self.layout.shape)
            return
        self.squares /= examples
        if mean is not None:
            self.squares -= self.basis.to(self.layout.matrices(mean)).square()

    def mv(self, rows: Tensor) -> Tensor:
        assert self.squares is not None
        return self._in_basis(rows, self.squares)

    def solve(self, rows: Tensor, damping: float) -> Tensor:
        assert self.squares is not None
        return self._in_basis(rows, 1 / (self.squares + damping))

    def trace(self) -> Tensor:
        assert self.squares is not None
        return self.squares.sum(dtype=torch.float64)

    def frobenius(self) -> Tensor:
        assert self.squares is not None
        norm: Tensor = torch.linalg.vector_norm(self.squares)
        return norm


def _traces(matrices: Tensor) -> Tensor:
    return matrices.diagonal(dim1=1, dim2=2).sum(1, dtype=torch.float64)
