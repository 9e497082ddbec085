"""The sizes that decide how a layer is multiplied, and a symmetric matrix in few large blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from torch import Tensor

from ntkexp.tangent.factors import Outer


@dataclass(frozen=True)
class Shape:
    """Examples on both sides, outputs k, groups G, features K, channels O, positions D."""

    left: int
    right: int
    symmetric: bool
    k: int
    groups: int
    features: int
    channels: int
    positions: int
    itemsize: int

    @classmethod
    def of(cls, left: Outer, right: Outer | None) -> Shape:
        return cls(
            left=left.v.shape[0],
            right=(right or left).v.shape[0],
            symmetric=right is None,
            k=left.v.shape[1],
            groups=left.u.groups,
            features=left.u.features,
            channels=left.v.shape[3],
            positions=max(left.v.shape[4], (right or left).v.shape[4]),
            itemsize=left.v.element_size(),
        )

    @property
    def pairs(self) -> float:
        """Pairs of examples to visit; half of them when the matrix is symmetric."""
        return self.left * (self.left + 1) / 2 if self.symmetric else self.left * self.right


# The cost of starting one tensor operation, about 5 microseconds, in floating point operations; and
# that of one small product within a batch of them.
OPERATION = 7e5
SMALL_PRODUCT = 5e4


@dataclass(frozen=True)
class Cost:
    """Floating point operations, and the bytes that go through memory on the way.

    `lost` is what small matrix products waste, in the operations a large one would have done in
    that time. It enters the choice of a way, never the reported FLOPs.
    """

    flops: float
    bytes: float
    lost: float = 0.0


STRIPE = 250


def lower_blocks(size: int, least: int, start: int = 0) -> Iterator[tuple[slice, slice]]:
    """Rectangles that cover everything on and below the diagonal of a size x size matrix.

    Halving again and again leaves size^2 / 2 plus half of `least` x size to compute, in matrix
    products as large as possible.

    >>> [(r.start, r.stop, c.start, c.stop) for r, c in lower_blocks(4, 2)]
    [(0, 2, 0, 2), (2, 4, 0, 2), (2, 4, 2, 4)]
    """
    if size <= max(least, 1):
        yield slice(start, start + size), slice(start, start + size)
        return
    half = size // 2
    yield from lower_blocks(half, least, start)
    yield slice(start + half, start + size), slice(start, start + half)
    yield from lower_blocks(size - half, least, start + half)


def mirror(gram: Tensor) -> None:
    """Copy what is below the diagonal above it, in stripes the cache holds."""
    for start in range(0, len(gram), STRIPE):
        stripe = slice(start, start + STRIPE)
        gram[:start, stripe] = gram[stripe, :start].t()
        square = gram[stripe, stripe]
        square.copy_(square.tril() + square.tril(-1).t())


def times(examples: slice, k: int) -> slice:
    """The rows of a Gram matrix that belong to a range of examples."""
    return slice(examples.start * k, examples.stop * k)
