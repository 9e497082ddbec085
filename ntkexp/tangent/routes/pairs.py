"""Multiply inputs and output gradients apart, then position by position: for very few positions."""

from __future__ import annotations

import torch
from torch import Tensor

from ntkexp.tangent.factors import Outer
from ntkexp.tangent.positions import Positions
from ntkexp.tangent.routes.blocks import lower_blocks, times
from ntkexp.tangent.routes.shape import Cost, Shape
from ntkexp.tangent.workspace import Workspace

LEAST_EXAMPLES = 32


class Pairs:
    """K[(i,c),(j,c')] = sum_de <u_id, u_je> <v_icd, v_jc'e>: A2 in the specification.

        2 n^2 D^2 K + 2 N^2 D^2 (O + 1)  floating point operations, half by symmetry.

    One pair of positions (d, e) at a time, so N^2 D^2 numbers never stand in memory. With one
    position it is the rule for linear layers, (x x^T) elementwise times (g g^T).
    """

    name = "A2"

    @staticmethod
    def cost(shape: Shape) -> Cost:
        d = shape.positions
        inputs = 2 * d * d * shape.features
        outputs = 2 * d * d * shape.k**2 * (shape.channels + 1)
        pairs = shape.pairs * shape.groups
        return Cost(pairs * (inputs + outputs), 4 * d * d * pairs * shape.k**2 * shape.itemsize)

    @staticmethod
    def add(gram: Tensor, left: Outer, right: Outer | None, workspace: Workspace) -> None:
        for group in range(left.u.groups):
            v_left, u_left = _apart(left, group)
            v_right, u_right = (v_left, u_left) if right is None else _apart(right, group)
            for d in range(len(v_left)):
                one = (v_left[d], u_left[d])
                for e in range(len(v_right) if right is not None else d):
                    both = _multiplied(left.u, one, (v_right[e], u_right[e]), workspace)
                    gram += both
                    if right is None:
                        gram += both.t()
                if right is None:
                    _add_diagonal(gram, left.u, one, workspace)


def _apart(side: Outer, group: int) -> tuple[Tensor, Tensor]:
    """Position first: v (D, N, O) and the inputs (D, n, 1, K)."""
    v = side.v[:, :, group].permute(3, 0, 1, 2).flatten(1, 2).contiguous()
    return v, side.u.rows(group).transpose(0, 1).unsqueeze(2).contiguous()


def _multiplied(
    u: Positions,
    left: tuple[Tensor, Tensor],
    right: tuple[Tensor, Tensor],
    workspace: Workspace,
) -> Tensor:
    """<v_ic, v_jc'> <u_i, u_j> at one pair of positions, (N_left, N_right)."""
    (v_left, u_left), (v_right, u_right) = left, right
    rows, columns = len(u_left), len(u_right)
    products, weights = workspace.tensors((len(v_left), len(v_right)), (rows, columns))
    torch.mm(v_left, v_right.t(), out=products)
    u.products(u_left, u_right, weights)
    # Repeated along one axis, broadcast along the other: five times as fast as broadcasting both.
    repeated = weights.repeat_interleave(len(v_right) // columns, dim=1)
    products.view(rows, -1, len(v_right)).mul_(repeated.unsqueeze(1))
    return products


def _add_diagonal(
    gram: Tensor, u: Positions, side: tuple[Tensor, Tensor], workspace: Workspace
) -> None:
    v, inputs = side
    k = len(v) // len(inputs)
    for r, c in lower_blocks(len(inputs), LEAST_EXAMPLES):
        rows, columns = (v[times(r, k)], inputs[r]), (v[times(c, k)], inputs[c])
        gram[times(r, k), times(c, k)] += _multiplied(u, rows, columns, workspace)
