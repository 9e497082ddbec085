"""Multiply inputs and output gradients apart, then position by position: for very few positions."""

from __future__ import annotations

from torch import Tensor

from ntkexp.tangent.factors import Outer
from ntkexp.tangent.routes.blocks import lower_blocks, times
from ntkexp.tangent.routes.shape import Cost, Shape

LEAST_EXAMPLES = 16


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
    def add(gram: Tensor, left: Outer, right: Outer | None, workspace_bytes: int) -> None:
        for group in range(left.u.groups):
            v_left, a_left = _apart(left, group)
            v_right, a_right = (v_left, a_left) if right is None else _apart(right, group)
            dtype = gram.dtype
            for d in range(len(v_left)):
                for e in range(len(v_right) if right is not None else d):
                    a = left.u.products(a_left[d], a_right[e]).to(dtype)
                    whole = _weighted(v_left[d], v_right[e], a)
                    gram += whole
                    if right is None:
                        gram += whole.t()
                if right is None:
                    _add_diagonal(gram, v_left[d], left.u.products(a_left[d], a_left[d]).to(dtype))


def _apart(side: Outer, group: int) -> tuple[Tensor, Tensor]:
    """Position first: v (D, N, O) and the inputs (D, n, 1, K)."""
    v = side.v[:, :, group].permute(3, 0, 1, 2).flatten(1, 2).contiguous()
    return v, side.u.rows(group).transpose(0, 1).unsqueeze(2).contiguous()


def _weighted(left: Tensor, right: Tensor, weights: Tensor) -> Tensor:
    """<left_ic, right_jc'> weights_ij, (N_left, N_right)."""
    products = left @ right.t()
    k = len(left) // len(weights)
    products.view(len(weights), k, -1, k).mul_(weights[:, None, :, None])
    return products


def _add_diagonal(gram: Tensor, v: Tensor, weights: Tensor) -> None:
    k = len(v) // len(weights)
    for r, c in lower_blocks(len(weights), LEAST_EXAMPLES):
        gram[times(r, k), times(c, k)] += _weighted(v[times(r, k)], v[times(c, k)], weights[r, c])
