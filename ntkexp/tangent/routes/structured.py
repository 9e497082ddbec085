"""Multiply the inputs first, never forming a gradient: for few positions and many weights."""

from __future__ import annotations

import torch
from torch import Tensor

from ntkexp.machine.gpus import on_gpu
from ntkexp.tangent.factors.factor import Outer
from ntkexp.tangent.memory.available import Workspace
from ntkexp.tangent.routes.shape import OPERATION, Cost, Shape

# T is written by one product and read by the next, so it should stay near a core. The products of
# the inputs, A, are read by BLOCK examples, and more of them may be made at a time. With 8 MB for
# both in common VGG19's 8 x 8 maps take 5 % longer (two threads, n = 100; 10 % on one thread).
NEAR_BYTES = 5 * 2**20
CPU_BYTES = 8 * 2**20
CUDA_BYTES = 512 * 2**20
BLOCK = 4
SMALL_AREA = 300
# A matrix product of few columns: MKL takes half as long for 16 of them as for 10.
FEW, FITTING = 4, 16


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
        found = t[: stop - first]
        torch.bmm(v[first:stop].flatten(1, 2), a_i[first:stop], out=found)
        rows = found.view((stop - first) * k, -1)
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
