"""Multiply inputs and output gradients apart, then position by position: for very few positions."""

from __future__ import annotations

from itertools import product

import torch
from torch import Tensor

from ntkexp.tangent.factors.factor import Outer
from ntkexp.tangent.factors.positions import Positions
from ntkexp.tangent.memory.available import Workspace
from ntkexp.tangent.routes.shape import OPERATION, Cost, Shape, lower_blocks, times

# Products of fewer rows than this run below the full rate: 32 examples of 10 outputs, 320 of one.
LEAST_ROWS = 320
# Channels times pairs of positions; with fewer, the other half of a symmetric matrix is computed in
# less time than copied (1000 x 1000 on two cores, 80 channels: 1.4 ms for 3.4).
WORTH_HALVING = 256


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
            for block, one, two in product(blocks, rows, columns):
                _add_block(gram, block, left.u, one, two, workspace)


def _blocks(left: Outer, right: Outer | None, workspace: Workspace) -> list[tuple[slice, slice]]:
    """The pairs of examples to visit: the lower half, or stripes whose products have room."""
    shape = Shape.of(left, right)
    if Pairs.halves(shape):
        return [*lower_blocks(shape.left, LEAST_ROWS // shape.k)]
    bytes_each = shape.right * shape.k**2 * shape.itemsize
    step = max(1, workspace.limit_bytes // bytes_each)
    starts = range(0, shape.left, step)
    return [
        (slice(start, min(start + step, shape.left)), slice(0, shape.right)) for start in starts
    ]


def _apart(side: Outer, group: int) -> list[tuple[Tensor, Tensor]]:
    """For each position, v (N, O) and the inputs (n, 1, K)."""
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
