r"""A layer's gradient divided by a Kronecker-factored Fisher matrix: KFAC and EKFAC.

With F = T A x B (ntkexp/curvature/kron.py), damping e and a gradient G (O, K) of the layer's matrix

.. math:: (\sqrt T B + \sqrt e)^{-1} G (\sqrt T A + \sqrt e)^{-1} \qquad \text{(`Inverse`)}, \quad
          U_B \frac{U_B^T G U_A}{s + e'} U_A^T \qquad \text{(`Rescaling`)}

where s is T S_A x S_B (KFAC), the mean of the squares of the gradients of single examples in the
basis U_A x U_B (EKFAC), or a running mean of those of whole batches (EKFAC-ra). e' is e, or grows
with both spectra so that for KFAC the two formulas are one: George's thesis, Algorithm 1 and A.4.

Shapes: G groups, S kernel offsets with `sua` (else 1), O channels, K features, n examples, m
positions of all examples.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from ntkexp.curvature.kron import (
    Basis,
    Kronecker,
    Layout,
    gradient_columns,
    input_columns,
    pieces,
)
from ntkexp.tangent.factors import Outer
from ntkexp.tangent.memory import cut
from ntkexp.tangent.positions import Patches, everything

# What is computed number by number goes through the processor's cache by so many.
NUMBERS_AT_ONCE = 2**16
# Numbers of windows and of gradients of a convolution that are formed at a time, and the positions
# below which products of pairs of them are cheaper than gradients.
FORMED_AT_ONCE = 2**21
FEW_POSITIONS = 7


def layouts_of(layer: nn.Module, sua: bool = False) -> list[Layout]:
    """Those of the `pieces` of a linear layer or a convolution, before there is a gradient.

    >>> [layout.shape for layout in layouts_of(nn.Conv2d(3, 8, 5), sua=True)]
    [(1, 25, 8, 3), (1, 1, 8, 1)]
    """
    weight, biased = layer.get_parameter("weight"), getattr(layer, "bias", None) is not None
    groups = getattr(layer, "groups", 1)
    channels, features = len(weight) // groups, weight.shape[1]
    offsets = math.prod(weight.shape[2:])
    if not (sua and weight.dim() > 2):
        return [Layout(groups, channels, features * offsets, bias=biased)]
    bias = [Layout(groups, channels, 1)] if biased else []
    return [Layout(groups, channels, features, offsets), *bias]


def factored(outer: Outer, sua: bool = False) -> list[Kronecker]:
    """The factors A and B of one batch, of every piece of a layer's gradients."""
    krons = []
    for piece in pieces(outer, sua):
        krons.append(Kronecker(Layout.of(piece, sua)))
        krons[-1].add(piece)
    return krons


@dataclass
class Matrices:
    """Gradients (G, S, O, K)."""

    values: Tensor

    @classmethod
    def of(cls, layout: Layout, gradients: Sequence[Tensor]) -> Matrices:
        """From those by weight and bias."""
        if not _one_matrix(layout):
            return cls(layout.matrices(torch.cat([part.flatten() for part in gradients])))
        weight, *bias = gradients
        columns = [weight.reshape(len(weight), -1), *(gradient[:, None] for gradient in bias)]
        return cls(torch.cat(columns, 1)[None, None])

    def between(self, left: Tensor, right: Tensor) -> Tensor:
        """L G R (G, S, O, K), of L (G, O, O) and R (G, K, K)."""
        if len(self.values) == self.values.shape[1] == 1:  # einsum takes a tenth longer
            return (left[0] @ self.values[0, 0] @ right[0])[None, None]
        return torch.einsum("gpo,gsok,gkl->gspl", left, self.values, right)


@dataclass
class Product:
    """The gradient V U^T of a linear layer by its factors, which are of lower rank while there are
    fewer positions than features: V (O, m), U (K, m)."""

    v: Tensor
    u: Tensor

    @classmethod
    def of(cls, layout: Layout, outer: Outer) -> Product:
        """The mean over examples."""
        v = gradient_columns(outer)[0].flatten(1) / len(outer.v)
        return cls(v, input_columns(outer, layout)[0])

    @property
    def values(self) -> Tensor:
        return (self.v @ self.u.mT)[None, None]

    def projected(self, left: Tensor, right: Tensor) -> Product:
        return Product(left[0] @ self.v, right[0].mT @ self.u)

    def between(self, left: Tensor, right: Tensor) -> Tensor:
        (channels, count), features = self.v.shape, len(self.u)
        first = count * (channels**2 + features**2)
        if first < channels * features * (channels + features):
            return self.projected(left, right).values
        return Matrices(self.values).between(left, right)


Gradient = Matrices | Product
# d = F^-1 g (G, S, O, K), and its squared length by F: |d|_F^2 = <g, d>.
Solved = tuple[Tensor, Tensor]


def gradients_of(layout: Layout, matrices: Tensor, like: Sequence[Tensor]) -> list[Tensor]:
    """(G, S, O, K) as gradients by weight and bias, of the shapes of `like`."""
    if not _one_matrix(layout):
        rows = torch.split(layout.rows(matrices), [part.numel() for part in like])
        return [row.view_as(part) for row, part in zip(rows, like, strict=True)]
    matrix, (weight, *bias) = matrices[0, 0], like
    # Views: the division itself is only some ten times a copy.
    columns = matrix[:, : layout.features]
    view = columns[:, 0] if weight.dim() == 1 else torch.unflatten(columns, 1, weight.shape[1:])
    return [view, *(matrix[:, layout.features].view_as(part) for part in bias)]


def _one_matrix(layout: Layout) -> bool:
    return layout.groups == layout.offsets == 1


@dataclass
class Inverse:
    """KFAC with damping in both factors, by their Cholesky factors: (G, K, K), (G, O, O).

    >>> one = Inverse(torch.full((1, 1, 1), 0.2), torch.full((1, 1, 1), 0.5))
    >>> [found.item() for found in one.solve(Matrices(torch.full((1, 1, 1, 1), 10.0)))]
    [1.0, 10.0]
    """

    a: Tensor
    b: Tensor

    @classmethod
    def of(cls, kron: Kronecker, damping: float) -> Inverse:
        positions, root = math.sqrt(kron.positions), math.sqrt(damping)
        return cls(*(_inverse(m.mean() * positions, root) for m in (kron.a, kron.b)))

    def solve(self, gradient: Gradient, *, measured: bool = True) -> Solved:
        """The length of a `Product` costs another product: it is 0 unless `measured`."""
        direction = gradient.between(self.b, self.a)
        if not measured:
            return direction, direction.new_zeros(())
        return direction, torch.dot(gradient.values.flatten(), direction.flatten())


def _inverse(matrices: Tensor, damping: float) -> Tensor:
    matrices.diagonal(dim1=1, dim2=2).add_(damping)
    return torch.cholesky_inverse(torch.linalg.cholesky(matrices))


@dataclass
class Rescaling:
    """(E)KFAC in the eigenbasis: (G, K, K) and (G, O, O), whose columns it is, `scale` s, and what
    damping adds to it, (G, S, O, K)."""

    a: Tensor
    b: Tensor
    scale: Tensor
    added: Tensor

    @classmethod
    def of(cls, kron: Kronecker, damping: float, *, spread: bool) -> Rescaling:
        """As KFAC has it; the damping `spread` over both factors, or added to their products."""
        basis = kron.basis()
        products = basis.products()
        added = basis.spread(damping) if spread else torch.full_like(products, damping)
        scales = (numbers.expand(kron.layout.shape).clone() for numbers in (products, added))
        return cls(basis.a, basis.b, *scales)

    def solve(self, gradient: Gradient) -> Solved:
        return self._divided(gradient.between(self.b.mT, self.a))

    def solve_running(self, gradient: Gradient, examples: int, decay: float) -> Solved:
        """With s <- decay s + (1 - decay) n g^2 first: the squares of a mean of n gradients are
        about an n-th of theirs."""
        coordinates = gradient.between(self.b.mT, self.a)
        share = (1 - decay) * examples
        for part, scale, _ in self._in_parts(coordinates):
            scale.mul_(decay).addcmul_(part, part, value=share)
        return self._divided(coordinates)

    def solve_batch(self, gradient: Gradient, layout: Layout, outer: Outer) -> Solved:
        """With s <- the mean of the squares of the gradients of single examples first."""
        n = len(outer.v)
        if isinstance(gradient, Product) and gradient.v.shape[1] == n:
            # One position an example: gradient and squares come from the same projections.
            projected = gradient.projected(self.b.mT, self.a)
            coordinates = projected.values
            v, u = projected.v.square_().mul_(n), projected.u.square_()
            torch.mm(v, u.mT, out=self.scale[0, 0])
        else:
            coordinates = gradient.between(self.b.mT, self.a)
            self.scale.copy_(self._squares(layout, outer)).div_(n)
        return self._divided(coordinates)

    def _divided(self, coordinates: Tensor) -> Solved:
        squared_length = coordinates.new_zeros(())
        for part, scale, added in self._in_parts(coordinates):
            whole = part / (scale + added)
            squared_length += torch.sum(whole * part)
            part.copy_(whole)
        return Matrices(coordinates).between(self.b, self.a.mT), squared_length

    def _in_parts(self, coordinates: Tensor) -> list[tuple[Tensor, Tensor, Tensor]]:
        """Some channels at a time: these coordinates, s, and what is added to it."""
        at_once = max(1, NUMBERS_AT_ONCE * coordinates.shape[2] // coordinates.numel())
        return [
            (coordinates[:, :, rows], self.scale[:, :, rows], self.added[:, :, rows])
            for rows in cut(coordinates.shape[2], at_once)
        ]

    def _squares(self, layout: Layout, outer: Outer) -> Tensor:
        """sum_i (U_B^T g_i U_A)^2 of the gradients of single losses, (G, S, O, K)."""
        rank, of_a, of_b = self.a.shape[2], self.a[:, 0], self.b[:, 0]
        # Other batches than that of the basis may have inputs in all its directions.
        basis = Basis(layout, of_a, self.a, rank, of_b, self.b, 1.0)
        few = outer.v.shape[4] < FEW_POSITIONS
        if few or layout.groups > 1 or layout.offsets == 1 or not isinstance(outer.u, Patches):
            return basis.squares(outer)
        # Gradients of some examples at a time, in the basis: a third of that time.
        u = replace(outer.u, image=torch.einsum("nc...,cr->nr...", outer.u.image, self.a[0]))
        v = torch.einsum("nop,oq->nqp", outer.v[:, 0, 0], self.b[0])
        total = self.scale.new_zeros(layout.channels, layout.features * layout.offsets)
        numbers = u.features * (layout.channels + v.shape[2])
        for part in cut(len(v), max(1, FORMED_AT_ONCE // numbers)):
            columns = everything(u.part(part))[:, 0]
            total += torch.bmm(v[part], columns.mT).square_().sum(0)
        return torch.unflatten(total, 1, (layout.features, layout.offsets)).movedim(2, 0)[None]
