r"""Kronecker factors of a layer, and its eigenbasis, from the gradients of a batch.

The gradient of output c at example i by a layer's matrix W is sum_d v_icd u_id^T over the positions
d of its output (`ntkexp.tangent.Outer`), u_id the input with a 1 at its end where there is a bias.

.. math:: F = E_i \sum_c vec(g_{ic}) vec(g_{ic})^T \approx T A \otimes B, \quad
          A = E[u u^T], \quad B = E[\sum_c v_c v_c^T]

with means over examples and positions, T positions an example (Martens and Grosse, "Optimizing
neural networks with Kronecker-factored approximate curvature", 2015; Grosse and Martens, "A
Kronecker-factored approximate Fisher matrix for convolution layers", 2016). In the basis of their
eigenvectors, A = U_A S_A U_A^T and B alike, the best diagonal is the mean of (U_B^T g U_A)^2, and
not T S_A x S_B (George, Laurent, Bouthillier, Ballas, Vincent, "Fast approximate natural gradient
descent in a Kronecker-factored eigenbasis", 2018). `sua` takes the offsets of a convolution's
kernel for uncorrelated, so that A is a matrix of channels.

For a mini-batch of a loop of one's own:

    outer = outer_of(layer, inputs, gradients)      # or one of those that the engine has found
    for piece in pieces(outer, sua):                # with sua a bias is a piece of its own
        layout = Layout.of(piece, sua)
        kron = Kronecker(layout)
        kron.add(piece)                             # more batches may follow
        kron.a.mean(), kron.b.mean()                # A (G, K, K), B (G, O, O)
        basis = kron.basis()
        scale = basis.squares(piece) / n            # s* (G, S, O, K)
        m = basis.to(layout.matrices(gradient))     # gradient (p,): weight.flatten(), then bias
        layout.rows(basis.back(m / (scale + damping)))

Shapes: G groups, S kernel offsets under `sua` (else 1), O channels of the output, K features of an
input with the 1, p parameters, n examples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from ntkexp.errors import UserError
from ntkexp.tangent.factors import Outer
from ntkexp.tangent.positions import Columns, Patches, everything
from ntkexp.tangent.shape import lower_blocks, mirror

# Below so many rows two blocks of a symmetric product cost more than they save.
LEAST_ROWS = 256
# The time to square a number and add it, in floating point operations of a matrix product.
SQUARE = 40
# Products that are formed at a time stay in the processor's cache.
NUMBERS_AT_ONCE = 2**20


def outer_of(layer: nn.Module, inputs: Tensor, gradients: Tensor) -> Outer:
    """The factor of a linear layer or a convolution from its inputs and the gradients of its
    outputs, both with the examples first.

    >>> x, g = torch.tensor([[3.0, 4.0]]), torch.tensor([[2.0]])
    >>> outer_of(nn.Linear(2, 1), x, g).jacobian()
    tensor([[[6., 8.]]])
    """
    bias = "bias" if getattr(layer, "bias", None) is not None else ""
    n = len(inputs)
    if isinstance(layer, nn.Linear):
        u = Columns(inputs.reshape(n, 1, -1, inputs.shape[-1]).mT)
        return Outer(u, gradients.reshape(n, 1, 1, -1, gradients.shape[-1]).mT, bias=bias)
    if (
        not isinstance(layer, nn.Conv1d | nn.Conv2d | nn.Conv3d)
        or isinstance(layer.padding, str)
        or layer.padding_mode != "zeros"
    ):
        raise UserError(
            f"{type(layer).__name__}: has no Kronecker factors; expected linear layers, and "
            "convolutions padded by a number of zeros"
        )
    patches = Patches(
        inputs,
        layer.groups,
        layer.kernel_size,
        layer.stride,
        layer.dilation,
        layer.padding,
        tuple(gradients.shape[2:]),
    )
    channels = gradients.shape[1] // layer.groups
    return Outer(patches, gradients.reshape(n, 1, layer.groups, channels, -1), bias=bias)


def pieces(outer: Outer, sua: bool = False) -> list[Outer]:
    """The factor itself; with `sua` the weight of a convolution and its bias apart."""
    if not (sua and outer.bias and isinstance(outer.u, Patches)):
        return [outer]
    n, _, groups, _, positions = outer.v.shape
    ones = Columns(outer.v.new_ones(()).expand(n, groups, 1, positions))
    return [replace(outer, bias=""), Outer(ones, outer.v)]


@dataclass(frozen=True)
class Layout:
    """How a row (..., p) of a layer's weight and bias, side by side, is a stack of matrices.

    >>> layout = Layout(groups=1, channels=2, features=2, bias=True)
    >>> layout.matrices(torch.arange(6.0)).squeeze()
    tensor([[0., 1., 4.],
            [2., 3., 5.]])
    """

    groups: int
    channels: int
    features: int  # of an input, at one kernel offset, without the 1
    offsets: int = 1
    bias: bool = False
    swapped: bool = False

    @classmethod
    def of(cls, outer: Outer, sua: bool = False) -> Layout:
        offsets = outer.u.unit if sua and isinstance(outer.u, Patches) else 1
        return cls(
            groups=outer.u.groups,
            channels=outer.v.shape[3],
            features=outer.u.features // offsets,
            offsets=offsets,
            bias=bool(outer.bias),
            swapped=outer.swapped,
        )

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """(G, S, O, K)."""
        return self.groups, self.offsets, self.channels, self.features + self.bias

    def matrices(self, rows: Tensor) -> Tensor:
        """(..., p) -> (..., G, S, O, K)."""
        biases = self.groups * self.channels if self.bias else 0
        weights, bias = torch.split(rows, [rows.shape[-1] - biases, biases], -1)
        if self.swapped:
            matrices = torch.unflatten(weights, -1, (self.groups, 1, -1, self.channels)).mT
        else:
            size = (self.groups, self.channels, self.features, self.offsets)
            matrices = torch.unflatten(weights, -1, size).movedim(-1, -3)
        if not biases:
            return matrices
        column = torch.unflatten(bias, -1, (self.groups, 1, self.channels, 1))
        return torch.cat([matrices, column], -1)

    def rows(self, matrices: Tensor) -> Tensor:
        """(..., G, S, O, K) -> (..., p)."""
        weights = matrices[..., : self.features]
        weights = (weights.mT if self.swapped else weights.movedim(-3, -1)).flatten(-4)
        if not self.bias:
            return weights
        return torch.cat([weights, matrices[..., self.features].flatten(-3)], -1)


class Moment:
    """The mean of x x^T over vectors x in G groups, (G, K, K).

    While there are half as many vectors as features, or fewer, they stand for their products.

    >>> moment = Moment()
    >>> moment.add(torch.tensor([[[1.0, 1.0], [0.0, 2.0]]]))
    >>> moment.mean()
    tensor([[[1., 1.],
             [1., 2.]]])
    """

    def __init__(self) -> None:
        self.count = 0
        self._columns: list[Tensor] = []
        self._sum: Tensor | None = None  # below the diagonal

    def add(self, columns: Tensor, count: int | None = None) -> None:
        """More vectors (G, K, m); they count for `count` if not for m."""
        self.count += columns.shape[2] if count is None else count
        if self._sum is None:
            self._columns.append(columns)
            if 2 * sum(part.shape[2] for part in self._columns) <= columns.shape[1]:
                return
            columns, self._columns = torch.cat(self._columns, 2), []
            self._sum = columns.new_zeros(*columns.shape[:2], columns.shape[1])
        for total, vectors in zip(self._sum, columns, strict=True):
            for rows, others in lower_blocks(len(total), LEAST_ROWS):
                total[rows, others].addmm_(vectors[rows], vectors[others].t())

    @property
    def shape(self) -> tuple[int, int, int]:
        """G, K, and the largest rank that the mean can have."""
        if self._sum is not None:
            return len(self._sum), self._sum.shape[1], self._sum.shape[1]
        groups, features = self._columns[0].shape[:2]
        return groups, features, sum(part.shape[2] for part in self._columns)

    def mean(self) -> Tensor:
        """(G, K, K)."""
        if self._sum is None:
            columns = torch.cat(self._columns, 2)
            return columns @ columns.mT / self.count
        for total in self._sum:
            mirror(total)
        return self._sum / self.count

    def times(self, matrices: Tensor) -> Tensor:
        """M E[x x^T], (..., G, S, O, K)."""
        if self._sum is not None:
            return torch.einsum("...gsok,gkl->...gsol", matrices, self.mean())
        columns = torch.cat(self._columns, 2)
        products = torch.einsum("...gsok,gkm->...gsom", matrices, columns)
        return torch.einsum("...gsom,gkm->...gsok", products, columns) / self.count

    def eigen(self) -> tuple[Tensor, Tensor, int]:
        """Eigenvalues (G, K), the eigenvectors (G, K, K) as columns, and how many eigenvalues, the
        first, may differ from 0. In float64: of few vectors x by a matrix of their number, which
        Q R = x reduces them to.
        """
        like = self._columns[0] if self._sum is None else self._sum
        groups, features, rank = self.shape
        if self._sum is None:
            columns = torch.cat(self._columns, 2).double()
            complete, triangle = torch.linalg.qr(columns, mode="complete")
            small = triangle[:, :rank]
            matrix = small @ small.mT / self.count
        else:
            matrix = self.mean().double()
        if not bool(torch.isfinite(matrix).all()):
            raise UserError("a Kronecker factor is not finite (NaN or infinity)")
        values, vectors = torch.linalg.eigh(matrix)
        if self._sum is None:
            vectors = torch.cat([complete[:, :, :rank] @ vectors, complete[:, :, rank:]], 2)
            values = torch.cat([values, values.new_zeros(groups, features - rank)], 1)
        return values.clamp_min_(0).to(like), vectors.to(like), rank


class Kronecker:
    """The factors A and B of a layer, over whatever is added."""

    def __init__(self, layout: Layout) -> None:
        self.layout, self.examples = layout, 0
        self.a, self.b = Moment(), Moment()

    def add(self, outer: Outer) -> None:
        """One of the `pieces` of a factor, with gradients of any number of outputs."""
        n, positions = len(outer.v), outer.v.shape[4]
        self.examples += n
        self.a.add(input_columns(outer, self.layout))
        self.b.add(gradient_columns(outer).flatten(2), n * positions)

    @property
    def positions(self) -> float:
        """T, those of an example."""
        return self.b.count / self.examples

    def basis(self) -> Basis:
        a_values, a, rank = self.a.eigen()
        b_values, b, _ = self.b.eigen()
        return Basis(self.layout, a_values, a, rank, b_values, b, self.positions)


@dataclass(frozen=True)
class Basis:
    """The eigenvectors of A, of which the first `rank` count, and of B, and their eigenvalues."""

    layout: Layout
    a_values: Tensor
    a: Tensor
    rank: int
    b_values: Tensor
    b: Tensor
    positions: float

    def to(self, matrices: Tensor) -> Tensor:
        """U_B^T M U_A, (..., G, S, O, K)."""
        return torch.einsum("gpo,...gspk,gkl->...gsol", self.b, matrices, self.a)

    def back(self, matrices: Tensor) -> Tensor:
        """U_B M U_A^T, (..., G, S, O, K)."""
        return torch.einsum("gop,...gspk,glk->...gsol", self.b, matrices, self.a)

    def products(self) -> Tensor:
        """T S_A x S_B, (G, 1, O, K): what the squares would be of independent u and v."""
        return (self.positions * self.b_values[:, :, None] * self.a_values[:, None]).unsqueeze(1)

    def spread(self, damping: float) -> Tensor:
        """What (A + e)(B + e), e the root of the damping, has more than A B: damping that grows
        with both spectra, for squares to be added to (A.4 of George's thesis), (G, 1, O, K)."""
        root = math.sqrt(damping)
        a, b = self.a_values[:, None], self.b_values[:, :, None]
        return (damping + root * math.sqrt(self.positions) * (a + b)).unsqueeze(1)

    def squares(self, outer: Outer) -> Tensor:
        """sum_ic (U_B^T g_ic U_A)^2, (G, S, O, K), over the gradients g of a batch."""
        layout, n = self.layout, len(outer.v)
        a = self.a[:, :, : self.rank]
        if layout.offsets > 1:
            assert isinstance(outer.u, Patches)
            image = torch.unflatten(outer.u.image, 1, (layout.groups, -1))
            image = torch.einsum("ngc...,gcr->ngr...", image, a).flatten(1, 2)
            outer = replace(outer, u=replace(outer.u, image=image))
            inputs = input_columns(outer, replace(layout, offsets=1))
        else:
            inputs = a.mT @ input_columns(outer, layout)
        gradients = torch.einsum("gpo,gpnkd->gonkd", self.b, gradient_columns(outer))
        sums = summed_squares(torch.unflatten(inputs, 2, (n, -1)), gradients)
        squares = torch.unflatten(sums, 2, (self.rank, layout.offsets)).movedim(3, 1)
        padded: Tensor = functional.pad(squares, (0, layout.shape[3] - self.rank))
        return padded


def input_columns(outer: Outer, layout: Layout) -> Tensor:
    """The inputs u of all examples and positions, (G, K, n D); with `sua` those of all pixels."""
    u = outer.u
    if layout.offsets > 1:
        assert isinstance(u, Patches)
        inputs = torch.unflatten(u.image, 1, (layout.groups, -1)).flatten(3)
    else:
        inputs = everything(u)
    n, groups, features, positions = inputs.shape
    columns = inputs.new_ones(groups, features + layout.bias, n, positions)
    columns[:, :features] = inputs.permute(1, 2, 0, 3)
    return columns.flatten(2)


def gradient_columns(outer: Outer) -> Tensor:
    """The gradients v, (G, O, n, k, D)."""
    return outer.v.permute(2, 3, 0, 1, 4).contiguous()


def summed_squares(u: Tensor, v: Tensor) -> Tensor:
    """sum_ic (sum_d v_icd u_id^T)^2, number by number, (G, O, K), from u (G, K, n, D) and
    v (G, O, n, k, D).

    Where positions are few, as sum_de (sum_c v_cd v_ce)(u_d u_e), which forms no gradient.
    """
    groups, features, examples, positions = u.shape
    channels, outputs = v.shape[1], v.shape[3]
    total = u.new_zeros(groups, channels, features)
    u = u.permute(0, 2, 3, 1).contiguous()  # (G, n, D, K)
    if positions * (positions + 1) < outputs * (2 * positions + SQUARE):
        products = v.mT @ v  # (G, O, n, D, D)
        for d in range(positions):
            inputs = u[:, :, d:] * u[:, :, d : d + 1]
            inputs[:, :, 1:] *= 2  # for the pairs (e, d)
            total.baddbmm_(products[..., d, d:].flatten(2), inputs.flatten(1, 2))
        return total
    step = max(1, NUMBERS_AT_ONCE // (channels * features))
    for group in range(groups):
        for example in range(examples):
            of_example = v[group, :, example].transpose(0, 1)  # (k, O, D)
            for rows in torch.split(of_example, step):
                formed = torch.matmul(rows, u[group, example])
                total[group] += formed.square_().sum(0) if step > 1 else formed.square_()[0]
    return total
