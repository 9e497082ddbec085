"""Form the gradients, multiply them: for layers with many positions and few weights."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from ntkexp.tangent.factors.factor import Outer
from ntkexp.tangent.factors.positions import split_features
from ntkexp.tangent.memory.available import Workspace
from ntkexp.tangent.routes.shape import OPERATION, SMALL_PRODUCT, Cost, Shape, lower_blocks

LEAST_ROWS = 128
CHUNK_BYTES = 192 * 2**20


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
            for r, c in lower_blocks(rows.shape[0], LEAST_ROWS):
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
    u = side.u.columns(groups, features)  # (n, G', K', D)
    v = side.v[:, :, groups].transpose(1, 2).flatten(2, 3)  # (n, G', k O, D)
    torch.bmm(v.flatten(0, 1), u.flatten(0, 1).transpose(1, 2), out=out.flatten(0, 1))
    if out.shape[1] > 1:
        out = out.view(n, out.shape[1], k, -1).transpose(1, 2)
    return out.reshape(n * k, -1)
