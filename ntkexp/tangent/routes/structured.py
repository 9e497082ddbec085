"""Multiply the inputs first, never forming a gradient: for few positions and many weights."""

from __future__ import annotations

import torch
from torch import Tensor

from ntkexp.tangent.factors import Outer
from ntkexp.tangent.routes.shape import OPERATION, Cost, Shape
from ntkexp.tangent.workspace import Workspace

# The products of one step should stay in the processor's last cache.
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
    width = FITTING if FEW < k < FITTING and not gram.is_cuda else k
    per_example = k * channels * d_columns + d_rows * d_columns * BLOCK
    limit = min(workspace.limit_bytes, CUDA_BYTES if gram.is_cuda else CPU_BYTES)
    step = min(n_rows, max(1, limit // (per_example * v_rows.element_size())))
    t, a, v_block, sums = workspace.tensors(
        (step, k * channels, d_columns),
        (step * d_rows * BLOCK * d_columns,),
        (BLOCK, width, channels * d_columns),
        (step * k, width),
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
                torch.bmm(
                    v_rows[j:stop].flatten(1, 2),
                    by_pair[j - start :, :, i - first],
                    out=t[: stop - j],
                )
                rows = t[: stop - j].view((stop - j) * k, -1)
                torch.mm(rows, v_block[i - first].t(), out=sums[: len(rows)])
                gram[j * k : stop * k, i * k : (i + 1) * k] += sums[: len(rows), :k]
