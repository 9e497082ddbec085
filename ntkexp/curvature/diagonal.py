"""The diagonal, and with it what a bias has in common with the weights of its unit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from ntkexp.curvature.block import NUMBERS_AT_ONCE, Block, Factors
from ntkexp.curvature.kron import Layout, gradient_columns, input_columns, summed_squares
from ntkexp.tangent.factors import Direct, Factor, Outer, Tied
from ntkexp.tangent.positions import Indices


class Diagonal(Block):
    """E[g^2], number by number."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(names)
        self.values = torch.empty(0)

    def add(self, factors: Factors) -> None:
        squares = torch.cat([squared_sums(factors[name]) for name in self.names])
        self.values = squares if not len(self.values) else self.values + squares

    def finish(self, examples: int, mean: Tensor | None) -> None:
        self.values /= examples
        if mean is not None:
            self.values -= mean.square()

    def mv(self, rows: Tensor) -> Tensor:
        return self.values * rows

    def solve(self, rows: Tensor, damping: float) -> Tensor:
        return rows / (self.values + damping)

    def trace(self) -> Tensor:
        return self.values.sum(dtype=torch.float64)

    def frobenius(self) -> Tensor:
        norm: Tensor = torch.linalg.vector_norm(self.values)
        return norm


class QuasiDiagonal(Diagonal):
    """The diagonal, and E[g_w g_b] of each bias b with the weights w of its unit (Ollivier,
    "Riemannian metrics for neural networks I", 2015).

    A unit's block is an arrowhead: D on the diagonal, c beside beta of the bias. It is solved by
    its Schur complement, x_b = (v_b - c D^-1 v_w) / (beta - c D^-1 c).
    """

    def __init__(self, names: Sequence[str], layout: Layout) -> None:
        super().__init__(names)
        self.layout, self.common = layout, torch.empty(0)

    def add(self, factors: Factors) -> None:
        super().add(factors)
        weight, bias = (factors[name] for name in self.names)
        common = _with_bias(weight, bias, self.layout)
        self.common = common if not len(self.common) else self.common + common

    def finish(self, examples: int, mean: Tensor | None) -> None:
        super().finish(examples, mean)
        self.common /= examples
        if mean is not None:
            w, b = self._apart(mean)
            self.common -= w * b

    def mv(self, rows: Tensor) -> Tensor:
        w, b = self._apart(rows)
        diagonal, beta = self._apart(self.values)
        of_bias = (self.common * w).sum(-1, keepdim=True) + beta * b
        return self.layout.rows(torch.cat([diagonal * w + self.common * b, of_bias], -1))

    def solve(self, rows: Tensor, damping: float) -> Tensor:
        w, b = self._apart(rows)
        diagonal, beta = self._apart(self.values + damping)
        share = self.common / diagonal
        schur = beta - (self.common * share).sum(-1, keepdim=True)
        of_bias = (b - (share * w).sum(-1, keepdim=True)) / schur
        return self.layout.rows(torch.cat([w / diagonal - share * of_bias, of_bias], -1))

    def frobenius(self) -> Tensor:
        diagonal = super().frobenius()
        return (diagonal.square() + 2 * self.common.square().sum()).sqrt()

    def _apart(self, rows: Tensor) -> Sequence[Tensor]:
        """Weights (..., G, 1, O, K) and biases (..., G, 1, O, 1)."""
        return torch.split(self.layout.matrices(rows), [self.layout.features, 1], -1)


def squared_sums(factor: Factor) -> Tensor:
    """sum_ic g_ic^2 of a parameter, flat."""
    if isinstance(factor, Direct):
        return factor.values.square().sum((0, 1))
    if isinstance(factor, Tied) or isinstance(factor.u, Indices):
        pieces = _pieces(factor)
        return torch.cat([piece.square().sum((0, 1)) for piece in pieces])
    layout = Layout.of(_alone(factor))
    u = torch.unflatten(input_columns(factor, layout), 2, (len(factor.v), -1))
    return layout.rows(summed_squares(u, gradient_columns(factor)).unsqueeze(1))


def _alone(factor: Outer) -> Outer:
    return Outer(factor.u, factor.v, factor.swapped)


def _pieces(factor: Outer | Tied) -> Iterator[Tensor]:
    """Gradients by some rows of the matrix at a time, which has one for each of many words."""
    tied = factor if isinstance(factor, Tied) else Tied([factor])
    return tied.pieces(NUMBERS_AT_ONCE // factor.v[:, :, 0, 0, 0].numel())


def _with_bias(weight: Factor, bias: Factor, layout: Layout) -> Tensor:
    """sum_ic g_w g_b, (G, 1, O, K)."""
    if isinstance(weight, Outer):
        v = weight.v
        shares = torch.einsum("nkgod,nkgo->gond", v, v.sum(4)).flatten(2)
        u = input_columns(_alone(weight), Layout.of(_alone(weight)))
        return (shares @ u.mT).unsqueeze(1)
    rows = weight.jacobian().flatten(0, 1)
    matrices = torch.unflatten(rows, 1, (layout.groups, 1, layout.channels, layout.features))
    biases = torch.unflatten(bias.jacobian().flatten(0, 1), 1, (layout.groups, 1, layout.channels))
    return torch.einsum("mgsok,mgso->gsok", matrices, biases)
