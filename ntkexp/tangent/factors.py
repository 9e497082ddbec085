"""The features (per-example gradients) of one parameter, in the form that is cheap to multiply,
and their squared norms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

import torch
from torch import Tensor

from ntkexp.machine import on_gpu
from ntkexp.tangent.memory import Workspace, cut
from ntkexp.tangent.positions import Indices, Positions, everything, side_by_side

# Gradients of a few examples at a time stay in the processor's cache.
CPU_BYTES = 16 * 2**20
CUDA_BYTES = 512 * 2**20


@dataclass
class Direct:
    """The gradients themselves, (n, k, p): biases, scales, and whatever has no structure."""

    values: Tensor

    @property
    def parameters(self) -> int:
        return self.values.shape[2]

    def jacobian(self) -> Tensor:
        return self.values

    def pieces(self, most: int) -> Iterator[Tensor]:
        """The gradients by so many parameters at a time, (n, k, at most `most`)."""
        return iter(torch.split(self.values, most, dim=2))

    def pulled_back(self, cotangent: Tensor) -> Tensor:
        """sum_ic a_ic grad f_ic, flat, from the cotangent a (n, k)."""
        return torch.einsum("nk,nkp->p", cotangent, self.values)

    def part(self, examples: slice) -> Direct:
        return replace(self, values=self.values[examples])

    def summed(self) -> Direct:
        """The feature of one output whose products are the sums of these over outputs."""
        return replace(self, values=self.values.flatten(1).unsqueeze(1))


@dataclass
class Outer:
    """Gradients that are sums of outer products over the D positions of a layer's output,

        grad f_ic = sum_d v_icd u_id^T   (one O x K block for each of G groups),

    with v (n, k, G, O, D) the gradients of the outputs and u (n, G, K, D) the inputs. A weight
    stored with the inputs' axis first (transposed convolutions) is `swapped`. `bias` names the
    parameter whose gradient is sum_d v_icd, as if the inputs had one more feature, always 1.
    (Goodfellow, "Efficient per-example gradient computations", 2015.)

    >>> from ntkexp.tangent.positions import Columns
    >>> u, v = torch.tensor([3.0, 4.0]), torch.tensor([2.0])
    >>> Outer(Columns(u.view(1, 1, 2, 1)), v.view(1, 1, 1, 1, 1)).jacobian()        # v u^T
    tensor([[[6., 8.]]])
    """

    u: Positions
    v: Tensor
    swapped: bool = False
    bias: str = ""

    @property
    def parameters(self) -> int:
        return self.u.groups * self.v.shape[3] * self.u.features

    def jacobian(self) -> Tensor:
        """(n, k, p) in the order of the flattened weight."""
        n, k = self.v.shape[:2]
        order = "ngfd,nkgod->nkgfo" if self.swapped else "ngfd,nkgod->nkgof"
        return torch.einsum(order, everything(self.u), self.v).reshape(n, k, -1)

    def pulled_back(self, cotangent: Tensor) -> Tensor:
        """sum_ic a_ic grad f_ic, flat, from the cotangent a (n, k)."""
        weighted = torch.einsum("nk,nkgod->ngod", cotangent, self.v)
        if self.swapped and isinstance(self.u, Indices):
            rows = weighted[:, 0].mT.flatten(0, 1)  # (n D, O)
            whole = rows.new_zeros(self.u.size, rows.shape[1])
            return whole.index_add_(0, self.u.index.flatten(), rows).flatten()
        order = "ngfd,ngod->gfo" if self.swapped else "ngfd,ngod->gof"
        return torch.einsum(order, everything(self.u), weighted).flatten()

    def part(self, examples: slice) -> Outer:
        return replace(self, u=self.u.part(examples), v=self.v[examples])

    def summed(self) -> Outer:
        """The feature of one output whose products are the sums of these over outputs."""
        return replace(self, v=self.v.transpose(1, 2).flatten(2, 3).unsqueeze(1))


@dataclass
class Tied:
    """Gradients by a matrix (R, C) that are sums of outer products of both layouts: a table of
    words that gives the logits, too. They are formed some rows of the matrix at a time.

    >>> from ntkexp.tangent.positions import Columns, Indices
    >>> ones = torch.ones(1, 1, 1, 2, 1)
    >>> words = Outer(Indices(torch.tensor([[2]]), 3, ones.dtype), ones, swapped=True)
    >>> logits = Outer(Columns(ones[0]), torch.ones(1, 1, 1, 3, 1))
    >>> [piece.flatten().tolist() for piece in Tied([words, logits]).pieces(4)]
    [[1.0, 1.0, 1.0, 1.0], [2.0, 2.0]]
    """

    uses: list[Outer]
    one_output: bool = False

    @property
    def parameters(self) -> int:
        return self.uses[0].parameters * (self.v.shape[1] if self.one_output else 1)

    @property
    def v(self) -> Tensor:
        return self.uses[0].v

    @property
    def flops(self) -> float:
        """Operations that form the gradients."""
        multiplied = (use for use in self.uses if not isinstance(use.u, Indices))
        return sum(2.0 * use.v.numel() * use.u.features for use in multiplied)

    def jacobian(self) -> Tensor:
        return next(self.pieces(self.parameters))

    def pieces(self, most: int) -> Iterator[Tensor]:
        """The gradients by some rows at a time, (n, k, at most `most`, or one row)."""
        rows, width = _matrix(self.uses[0])
        columns = self.parameters // rows
        for part in cut(rows, max(1, most // columns)):
            piece = self.v.new_zeros(*self.v.shape[:2], part.stop - part.start, width)
            for use in self.uses:
                _add_rows(piece, use, part)
            yield piece.flatten(1).unsqueeze(1) if self.one_output else piece.flatten(2)

    def pulled_back(self, cotangent: Tensor) -> Tensor:
        """sum_ic a_ic grad f_ic, flat, from the cotangent a (n, k)."""
        total = self.uses[0].pulled_back(cotangent)
        for use in self.uses[1:]:
            total += use.pulled_back(cotangent)
        return total

    def part(self, examples: slice) -> Tied:
        return replace(self, uses=[use.part(examples) for use in self.uses])

    def summed(self) -> Tied:
        """The feature of one output whose products are the sums of these over outputs."""
        return replace(self, one_output=True)


def _matrix(use: Outer) -> tuple[int, int]:
    """Rows and columns of the weight of an `Outer` of one group."""
    size = use.v.shape[3], use.u.features
    return size[::-1] if use.swapped else size


def _add_rows(piece: Tensor, use: Outer, rows: slice) -> None:
    """piece (n, k, R', C) += some rows of the gradients."""
    v = use.v[:, :, 0]  # (n, k, O, D)
    if not use.swapped:
        u = everything(use.u)[:, 0].mT  # (n, D, K)
        by_example = piece.flatten(1, 2)
        by_example.baddbmm_(v[:, :, rows].flatten(1, 2), u)
    elif isinstance(use.u, Indices):
        example, position = ((use.u.index >= rows.start) & (use.u.index < rows.stop)).nonzero(
            as_tuple=True
        )
        row = use.u.index[example, position] - rows.start
        values = v[example, :, :, position]  # (m, k, O)
        piece.transpose(1, 2).index_put_((example, row), values, accumulate=True)
    else:
        u = use.u.columns(slice(0, 1), rows)[:, 0]  # (n, R', D)
        piece += torch.einsum("nrd,nkod->nkro", u, v)


Factor: TypeAlias = Direct | Outer | Tied


def merged(uses: list[Factor]) -> Factor:
    """One factor for a parameter that was used several times (shared module, tied weight).

    The gradient is the sum over the uses, so its Gram matrix has cross terms. That is why the uses
    are joined before anything is multiplied. Outer products of one layout get more positions, those
    of a matrix in both layouts stand side by side; anything else is summed as plain gradients.
    """
    if len(uses) == 1:
        return uses[0]
    layouts: dict[tuple[object, ...], list[Outer]] = {}
    for use in uses:
        if isinstance(use, Outer):
            layout = (use.swapped, use.u.groups, use.u.features, use.v.shape[3])
            layouts.setdefault(layout, []).append(use)
    joined = [_side_by_side(some) for some in layouts.values()]
    if sum(map(len, layouts.values())) == len(uses):
        if len(joined) == 1:
            return joined[0]
        if all(use.u.groups == 1 for use in joined) and len({*map(_matrix, joined)}) == 1:
            return Tied(joined)
    total = uses[0].jacobian()
    for use in uses[1:]:
        total = total + use.jacobian()
    return Direct(total)


def _side_by_side(uses: list[Outer]) -> Outer:
    """Outer products of one layout."""
    if len(uses) == 1:
        return uses[0]
    v = torch.cat([use.v for use in uses], dim=4)
    return Outer(side_by_side([use.u for use in uses]), v, uses[0].swapped)


def near_bytes(like: Tensor) -> int:
    """The gradients that are formed at a time."""
    return CUDA_BYTES if on_gpu(like.device) else CPU_BYTES


def norm_workspace(like: Tensor) -> Workspace:
    return Workspace(like, near_bytes(like))


def squared_norms(factors: Iterable[Factor], workspace: Workspace) -> Tensor:
    """sum_ic |grad f_ic|^2 over several parameters, a float64 scalar.

    For outer products the cheaper, per example, of

        |sum_d v_d u_d^T|^2 formed and summed:          2 k D O K
        sum_de <u_d, u_e> <v_d, v_e>:                   2 D^2 K + 2 k D^2 O

    floating point operations; the second never forms a gradient and shares its first part among
    the k outputs. At a single position both are |v|^2 |u|^2, multiplied for all layers at once:
    in a small network each operation costs more than what it does.
    """
    squares: list[Tensor] = []
    direct: list[Tensor] = []
    lengths: list[tuple[Tensor, Tensor]] = []
    for factor in factors:
        if isinstance(factor, Direct):
            direct.append(factor.values)
        elif isinstance(factor, Tied):
            most = workspace.limit_bytes // factor.v[:, :, 0, 0, 0].nbytes
            squares += [_square(piece) for piece in factor.pieces(most)]
        elif factor.v.shape[4] == 1:
            lengths.append(_lengths(factor))
        else:
            squares += _by_group(factor, workspace)
    if lengths:
        u, v = (torch.cat(side).double() for side in zip(*lengths, strict=True))
        squares.append(torch.dot(u * u, v * v))
    if direct:
        norms = torch.stack(torch._foreach_norm(direct)).double()
        squares.append(torch.dot(norms, norms))
    return torch.stack(squares).sum()


def _lengths(factor: Outer) -> tuple[Tensor, Tensor]:
    """|u| and |v|, the latter over all outputs, of every example and group, flat."""
    norm = torch.linalg.vector_norm
    u, v = norm(everything(factor.u), dim=(2, 3)), norm(factor.v, dim=(1, 3, 4))
    return u.view(-1), v.view(-1)


def _by_group(factor: Outer, workspace: Workspace) -> list[Tensor]:
    _, k, groups, channels, d = factor.v.shape
    formed = k * d * channels * factor.u.features
    multiplied = d * d * (factor.u.features + k * channels)
    square = _by_products if multiplied < formed else _by_gradients
    return [square(factor, group, workspace) for group in range(groups)]


def _by_gradients(factor: Outer, group: int, workspace: Workspace) -> Tensor:
    v = factor.v[:, :, group].flatten(1, 2)  # (n, k O, D)
    features, positions = factor.u.features, v.shape[2]
    whole_group = slice(group, group + 1), slice(0, features)
    total = v.new_zeros((), dtype=torch.float64)
    # The cut out windows count as well: all examples' at once would be fresh memory, which is slow.
    bytes_each = features * (v.shape[1] + positions) * v.element_size()
    for part in _parts(len(v), bytes_each, workspace):
        u = factor.u.part(part).columns(*whole_group).squeeze(1)
        space = workspace.tensor(len(v[part]), v.shape[1], features)
        torch.bmm(v[part], u.mT, out=space)
        total += _square(space)
    return total


def _by_products(factor: Outer, group: int, workspace: Workspace) -> Tensor:
    v = factor.v[:, :, group].flatten(1, 2)  # (n, k O, D)
    total = v.new_zeros((), dtype=torch.float64)
    bytes_each = (v[0].numel() + factor.u.features * v.shape[2]) * v.element_size()
    for part in _parts(len(v), bytes_each, workspace):
        t = workspace.tensor(*v[part].shape)
        torch.bmm(v[part], factor.u.part(part).own_products(group), out=t)
        total += (t * v[part]).sum(dtype=torch.float64)
    return total


def _square(values: Tensor) -> Tensor:
    flat = values.reshape(-1)
    return torch.dot(flat, flat).double()


def _parts(examples: int, bytes_each: int, workspace: Workspace) -> list[slice]:
    return cut(examples, max(1, workspace.limit_bytes // max(bytes_each, 1)))
