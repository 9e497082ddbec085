"""Form the gradients, multiply them: for layers with many positions and few weights."""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor

from ntkexp.tangent.factors import Outer
from ntkexp.tangent.positions import split_features
from ntkexp.tangent.routes.blocks import lower_blocks
from ntkexp.tangent.routes.shape import Cost, Shape

LEAST_ROWS = 128
WORKSPACE_BYTES = 192 * 2**20


class Jacobians:
    """J_ic = v_ic u_i^T, (O x D) (D x K), then K = J J^T: JC in the specification.

        2 N D p + 2 N^2 p  floating point operations (the second half by symmetry),  p = G O K.

    J is formed for some of the input channels at a time, so it never stands in memory whole, and
    nothing is computed twice.
    """

    name = "JC"

    @staticmethod
    def cost(shape: Shape) -> Cost:
        weights = shape.groups * shape.channels * shape.features
        rows = (shape.left + (0 if shape.symmetric else shape.right)) * shape.k
        per_weight = 2 * rows * shape.positions + 2 * shape.pairs * shape.k**2
        return Cost(per_weight * weights, 4 * rows * weights * shape.itemsize)

    @staticmethod
    def add(gram: Tensor, left: Outer, right: Outer | None, workspace_bytes: int) -> None:
        for groups, features in _chunks(left, right, min(workspace_bytes, WORKSPACE_BYTES)):
            rows = jacobian(left, groups, features)
            if right is not None:
                gram.addmm_(rows, jacobian(right, groups, features).t())
                continue
            for r, c in lower_blocks(rows.shape[0], LEAST_ROWS):
                gram[r, c].addmm_(rows[r], rows[c].t())


def _chunks(left: Outer, right: Outer | None, limit_bytes: int) -> Iterator[tuple[slice, slice]]:
    """Groups and features at a time: many small groups together, or parts of a large one."""
    sides = [left] if right is None else [left, right]
    bytes_each = sum(side.v[:, :, 0, :, 0].numel() for side in sides) * left.v.element_size()
    most = limit_bytes // max(bytes_each, 1)
    together = max(1, most // left.u.features)
    for group in range(0, left.u.groups, together):
        groups = slice(group, min(group + together, left.u.groups))
        for start, stop in split_features(left.u.features, left.u.unit, most):
            yield groups, slice(start, stop)


def jacobian(side: Outer, groups: slice, features: slice) -> Tensor:
    """The gradients by the weights of some input features, (N, G' O K')."""
    n, k = side.v.shape[:2]
    u = side.u.columns(groups, features)  # (n, G', K', D)
    v = side.v[:, :, groups].transpose(1, 2).flatten(2, 3)  # (n, G', k O, D)
    products = v @ u.transpose(2, 3)
    if products.shape[1] > 1:
        products = products.reshape(n, products.shape[1], k, -1).transpose(1, 2)
    return products.reshape(n * k, -1)
