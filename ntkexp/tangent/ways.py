"""Three ways to multiply the features of one layer.

`Jacobians` form the gradients: for layers with many positions and few weights. `Structured`
multiplies the inputs first and never forms a gradient: for few positions and many weights. `Pairs`
multiplies inputs and output gradients apart, position by position: for very few positions.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Protocol

import torch
from torch import Tensor

from ntkexp.machine import on_gpu
from ntkexp.tangent.factors import Outer
from ntkexp.tangent.memory import Workspace, cut
from ntkexp.tangent.positions import Patches, Positions, split_features
from ntkexp.tangent.shape import OPERATION, SMALL_PRODUCT, Cost, Shape, lower_blocks, times

JACOBIANS_LEAST_ROWS = 128
CHUNK_BYTES = 192 * 2**20
# Products of fewer rows than this run below the full rate: 32 examples of 10 outputs, 320 of one.
PAIRS_LEAST_ROWS = 320
# Channels times pairs of positions; with fewer, the other half of a symmetric matrix is computed in
# less time than copied (1000 x 1000 on two cores, 80 channels: 1.4 ms for 3.4).
WORTH_HALVING = 256
# T is written by one product and read by the next, so it should stay near a core. The products of
# the inputs, A, are read by BLOCK examples, and more of them may be made at a time. With 8 MB for
# both in common VGG19's 8 x 8 maps take 5 % longer (two threads, n = 100; 10 % on one thread).
NEAR_BYTES = 5 * 2**20
CPU_BYTES = 8 * 2**20
# Patches that are cut out of images at once: more than these are written to fresh memory.
PATCH_BYTES = 2 * 2**20
CUDA_BYTES = 512 * 2**20
BLOCK = 4
SMALL_AREA = 300
# A matrix product of few columns: MKL takes half as long for 16 of them as for 10.
FEW, FITTING = 4, 16


class Way(Protocol):
    """Adds the Gram matrix of a layer's features to `gram`, (n_left k, n_right k).

    With `right` None it is the symmetric matrix of `left`.
    """

    name: str

    @staticmethod
    def halves(shape: Shape) -> bool:
        """True where only the part on and below the diagonal is right: the caller mirrors it."""

    @staticmethod
    def cost(shape: Shape) -> Cost:
        """Operations and bytes of `add`."""

    @staticmethod
    def add(gram: Tensor, left: Outer, right: Outer | None, workspace: Workspace) -> None:
        """gram += the products, with temporary tensors of about the workspace's limit."""


class Jacobians:
    """J_ic = v_ic u_i^T, (O x D) (D x K), then K = J J^T.

        2 N D p + 2 N^2 p  floating point operations (the second half by symmetry),  p = G O K.

    J is formed for some of the input channels at a time, so it never stands in memory whole, and
    nothing is computed twice.
    """

    name = "jacobians"

    @staticmethod
    def halves(shape: Shape) -> bool:
        return shape.symmetric

    @staticmethod
    def cost(shape: Shape) -> Cost:
        weights = shape.groups * shape.channels * shape.features
        rows = (shape.left + (0 if shape.symmetric else shape.right)) * shape.k
        per_weight = 2 * rows * shape.positions + 2 * shape.pairs * shape.k**2
        products = shape.groups * (shape.left + (0 if shape.symmetric else shape.right))
        lost = SMALL_PRODUCT * products + 8 * OPERATION
        return Cost(per_weight * weights, 4 * rows * weights * shape.itemsize, lost)

    @staticmethod
    def add(gram: Tensor, left: Outer, right: Outer | None, workspace: Workspace) -> None:
        sides = [left] if right is None else [left, right]
        for groups, features in _chunks(sides, min(workspace.limit_bytes, CHUNK_BYTES)):
            columns = (groups.stop - groups.start, features.stop - features.start)
            spaces = workspace.tensors(*(_size(side, *columns) for side in sides))
            rows, *others = (
                jacobian(side, groups, features, space)
                for side, space in zip(sides, spaces, strict=True)
            )
            if others:
                gram.addmm_(rows, others[0].t())
                continue
            for r, c in lower_blocks(rows.shape[0], JACOBIANS_LEAST_ROWS):
                gram[r, c].addmm_(rows[r], rows[c].t())


def _chunks(sides: list[Outer], limit_bytes: int) -> Iterator[tuple[slice, slice]]:
    """Groups and features at a time: many small groups together, or parts of a large one."""
    bytes_each = sum(side.v[:, :, 0, :, 0].numel() * side.v.element_size() for side in sides)
    u = sides[0].u
    most = limit_bytes // max(bytes_each, 1)
    together = max(1, most // u.features)
    for group in range(0, u.groups, together):
        groups = slice(group, min(group + together, u.groups))
        for start, stop in split_features(u.features, u.unit, most):
            yield groups, slice(start, stop)


def _size(side: Outer, groups: int, features: int) -> tuple[int, ...]:
    n, k, _, channels, _ = side.v.shape
    return n, groups, k * channels, features


def jacobian(side: Outer, groups: slice, features: slice, out: Tensor) -> Tensor:
    """The gradients by the weights of some input features, (N, G' O K'), in `out` if they can."""
    n, k = side.v.shape[:2]
    v = side.v[:, :, groups].transpose(1, 2).flatten(2, 3)  # (n, G', k O, D)
    step = n
    if isinstance(side.u, Patches):
        step = max(1, PATCH_BYTES // (out[0, :, 0].numel() * v.shape[3] * v.element_size()))
    for part in cut(n, step):
        inputs = side.u.part(part)
        # Depthwise, and one output: a product of one row each.
        whole = v.shape[2] == 1 and features == slice(0, side.u.features)
        if whole and isinstance(inputs, Patches) and not on_gpu(v.device):
            out[part] = inputs.correlated(groups, v[part])
            continue
        u = inputs.columns(groups, features)  # (n', G', K', D)
        torch.bmm(v[part].flatten(0, 1), u.flatten(0, 1).mT, out=out[part].flatten(0, 1))
    if out.shape[1] > 1:
        out = out.view(n, out.shape[1], k, -1).transpose(1, 2)
    return out.reshape(n * k, -1)


class Pairs:
    """K[(i,c),(j,c')] = sum_de <u_id, u_je> <v_icd, v_jc'e>.

        2 n^2 D^2 K + 2 N^2 D^2 (O + 1)  floating point operations, half by symmetry.

    One pair of positions (d, e) at a time, so N^2 D^2 numbers never stand in memory. With one
    position it is the rule for linear layers, (x x^T) elementwise times (g g^T).
    """

    name = "pairs"

    @staticmethod
    def halves(shape: Shape) -> bool:
        return shape.symmetric and shape.positions**2 * shape.channels >= WORTH_HALVING

    @staticmethod
    def cost(shape: Shape) -> Cost:
        d = shape.positions
        inputs = 2 * d * d * shape.features
        outputs = 2 * d * d * shape.k**2 * (shape.channels + 1)
        pairs = shape.pairs if Pairs.halves(shape) else shape.left * shape.right
        pairs *= shape.groups
        lost = 6 * OPERATION * shape.groups * d * d
        moved = 4 * d * d * pairs * shape.k**2 * shape.itemsize
        return Cost(pairs * (inputs + outputs), moved, lost)

    @staticmethod
    def add(gram: Tensor, left: Outer, right: Outer | None, workspace: Workspace) -> None:
        blocks = _blocks(left, right, workspace)
        for group in range(left.u.groups):
            rows = _apart(left, group)
            columns = rows if right is None else _apart(right, group)
            for block, row, column in product(blocks, rows, columns):
                _add_block(gram, block, left.u, row, column, workspace)


def _blocks(left: Outer, right: Outer | None, workspace: Workspace) -> list[tuple[slice, slice]]:
    """The pairs of examples to visit: the lower half, or stripes whose products have room."""
    shape = Shape.of(left, right)
    if Pairs.halves(shape):
        return [*lower_blocks(shape.left, PAIRS_LEAST_ROWS // shape.k)]
    bytes_each = shape.right * shape.k**2 * shape.itemsize
    # More rows are no faster, and their products would stand beside a Gram matrix of their size.
    step = max(1, min(workspace.limit_bytes // bytes_each, PAIRS_LEAST_ROWS // shape.k))
    starts = range(0, shape.left, step)
    return [
        (slice(start, min(start + step, shape.left)), slice(0, shape.right)) for start in starts
    ]


def _apart(side: Outer, group: int) -> list[tuple[Tensor, Tensor]]:
    """v (N, O) and the inputs (n, 1, K) of each position."""
    v = side.v[:, :, group].permute(3, 0, 1, 2).flatten(1, 2).contiguous()
    u = side.u.rows(group).transpose(0, 1).unsqueeze(2).contiguous()
    return [*zip(v, u, strict=True)]


def _add_block(
    gram: Tensor,
    block: tuple[slice, slice],
    u: Positions,
    left: tuple[Tensor, Tensor],
    right: tuple[Tensor, Tensor],
    workspace: Workspace,
) -> None:
    """gram += <v_ic, v_jc'> <u_i, u_j> for a block of examples, at one pair of positions."""
    k = len(left[0]) // len(left[1])
    rows, columns = (times(part, k) for part in block)
    v_left, u_left = left[0][rows], left[1][block[0]]
    v_right, u_right = right[0][columns], right[1][block[1]]
    sizes = (len(v_left), len(v_right)), (len(u_left), len(u_right))
    products, weights = workspace.tensors(*sizes)
    torch.mm(v_left, v_right.t(), out=products)
    u.products(u_left, u_right, weights)
    if k == 1:
        gram[rows, columns].addcmul_(products, weights)
        return
    # Repeated along one axis, broadcast along the other: five times as fast as broadcasting both.
    repeated = weights.repeat_interleave(k, dim=1).unsqueeze(1)
    by_example = (len(u_left), k, len(v_right))
    gram[rows, columns].view(by_example).addcmul_(products.view(by_example), repeated)


class Structured:
    """K[(i,c),(j,c')] = <v_ic, v_jc' A_ji>, A_ji = u_j^T u_i (D x D).

        2 n^2 D^2 K + 2 n N D^2 O + 2 N^2 D O  floating point operations, half by symmetry.

    The structured-derivatives branch of Novak, Sohl-Dickstein, Schoenholz, "Fast finite width
    neural tangent kernel" (2022), summed over positions on the side of the outputs. For a fixed i
    all the T_j = v_j A_ji lie one under the other as the rows of one matrix, (k J) x (O D), so the
    last step is a matrix product too.
    """

    name = "structured"

    @staticmethod
    def halves(shape: Shape) -> bool:
        return shape.symmetric

    @staticmethod
    def cost(shape: Shape) -> Cost:
        d = shape.positions
        pairs = shape.pairs * shape.groups
        inputs = 2 * pairs * d * d * shape.features
        middle = 2 * pairs * shape.k * d * d * shape.channels
        last = 2 * pairs * shape.k**2 * d * shape.channels
        moved = pairs * (2 * shape.k * d * shape.channels + 3 * d * d) * shape.itemsize
        # Measured: D x D products reach 90 % of the full rate at D = 64, 45 % at 16, 3 % at 4;
        # the last one, of k columns only, 25 to 45 %.
        # Groups are taken one after the other: four operations for each example, some for a block.
        started = OPERATION * shape.groups * (4 * shape.right + 3 * shape.right / BLOCK + 8)
        lost = SMALL_AREA / d**2 * middle + 2 * last + started
        return Cost(inputs + middle + last, moved, lost)

    @staticmethod
    def add(gram: Tensor, left: Outer, right: Outer | None, workspace: Workspace) -> None:
        for group in range(left.u.groups):
            _add_group(gram, left, right, group, workspace)


def _add_group(
    gram: Tensor, left: Outer, right: Outer | None, group: int, workspace: Workspace
) -> None:
    """gram's rows belong to `left`'s examples j, its columns to i, of `right` or `left`."""
    v_rows = left.v[:, :, group].contiguous()  # (n, k, O, D)
    v_columns = v_rows if right is None else right.v[:, :, group].contiguous()
    u_rows = left.u.rows(group)
    u_columns = u_rows if right is None else right.u.rows(group)
    n_rows, k, channels, d_rows = v_rows.shape
    n_columns, _, _, d_columns = v_columns.shape
    width = FITTING if FEW < k < FITTING and not on_gpu(gram.device) else k
    near, step = _steps(n_rows, (k, channels, d_rows, d_columns), v_rows, workspace)
    t, a, v_block, sums = workspace.tensors(
        (near, k * channels, d_columns),
        (step * d_rows * BLOCK * d_columns,),
        (BLOCK, width, channels * d_columns),
        (near * k, width),
    )
    v_block.zero_()
    for first in range(0, n_columns, BLOCK):
        block = min(BLOCK, n_columns - first)
        v_block[:block, :k] = v_columns[first : first + block].flatten(2)
        for start in range(first if right is None else 0, n_rows, step):
            stop = min(start + step, n_rows)
            products = a[: (stop - start) * d_rows * block * d_columns]
            products = products.view((stop - start) * d_rows, block * d_columns)
            left.u.products(u_rows[start:stop], u_columns[first : first + block], products)
            by_pair = products.view(stop - start, d_rows, block, d_columns)
            for i in range(first, first + block):
                j = max(start, i) if right is None else start
                if j >= stop:
                    continue
                a_i = by_pair[j - start :, :, i - first]
                column = gram[j * k : stop * k, i * k : (i + 1) * k]
                _add_column(column, v_rows[j:stop], a_i, v_block[i - first], t, sums)


def _add_column(
    column: Tensor, v: Tensor, a_i: Tensor, v_i: Tensor, t: Tensor, sums: Tensor
) -> None:
    """column += <v_i, v_j A_ji> for the rows of all j, as many examples j at a time as t holds."""
    k = v.shape[1]
    for first in range(0, len(v), len(t)):
        stop = min(first + len(t), len(v))
        middle = t[: stop - first]
        torch.bmm(v[first:stop].flatten(1, 2), a_i[first:stop], out=middle)
        rows = middle.view((stop - first) * k, -1)
        torch.mm(rows, v_i.t(), out=sums[: len(rows)])
        column[first * k : stop * k] += sums[: len(rows), :k]


def _steps(
    rows: int, sizes: tuple[int, int, int, int], like: Tensor, workspace: Workspace
) -> tuple[int, int]:
    """Examples j for which T stands at a time, and a multiple of them for which A does."""
    k, channels, d_rows, d_columns = sizes
    t_bytes = k * channels * d_columns * like.element_size()
    a_bytes = d_rows * d_columns * BLOCK * like.element_size()
    if on_gpu(like.device):
        limit = min(workspace.limit_bytes, CUDA_BYTES)
        step = min(rows, max(1, limit // (t_bytes + a_bytes)))
        return step, step
    near = min(rows, max(1, min(workspace.limit_bytes // 2, NEAR_BYTES) // t_bytes))
    times = max(1, min(workspace.limit_bytes // 2, CPU_BYTES) // (near * a_bytes))
    return near, min(rows, near * times)


WAYS: tuple[type[Way], ...] = (Jacobians, Structured, Pairs)
