"""Form the gradients, multiply them: for layers with many positions and few weights."""

from __future__ import annotations

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
        sides = [left] if right is None else [left, right]
        per_feature = sum(s.v[:, :, 0, :, 0].numel() for s in sides) * left.v.element_size()
        most = min(workspace_bytes, WORKSPACE_BYTES) // max(per_feature, 1)
        for group in range(left.u.groups):
            for start, stop in split_features(left.u.features, left.u.unit, most):
                rows = jacobian(left, group, start, stop)
                if right is not None:
                    gram.addmm_(rows, jacobian(right, group, start, stop).t())
                    continue
                for r, c in lower_blocks(rows.shape[0], LEAST_ROWS):
                    gram[r, c].addmm_(rows[r], rows[c].t())


def jacobian(side: Outer, group: int, start: int, stop: int) -> Tensor:
    """The gradients by the weights of some input features, (N, O (stop - start))."""
    u = side.u.columns(group, start, stop)  # (n, K', D)
    v = side.v[:, :, group].flatten(1, 2)  # (n, k O, D)
    n, k = side.v.shape[:2]
    return (v @ u.transpose(1, 2)).reshape(n * k, -1)
