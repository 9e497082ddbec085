"""The numbers that decide a layer's route."""

from __future__ import annotations

from dataclasses import dataclass

from ntkexp.tangent.factors.factor import Outer


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
            left=left.examples,
            right=(right or left).examples,
            symmetric=right is None,
            k=left.v.shape[1],
            groups=left.u.groups,
            features=left.u.features,
            channels=left.v.shape[3],
            positions=max(left.u.positions, (right or left).u.positions),
            itemsize=left.v.element_size(),
        )

    @property
    def pairs(self) -> float:
        """Pairs of examples to visit; half of them when the matrix is symmetric."""
        return self.left * (self.left + 1) / 2 if self.symmetric else self.left * self.right


# What starting one tensor operation costs, about 5 microseconds, in floating point operations; and
# one small product within a batch of them.
OPERATION = 7e5
SMALL_PRODUCT = 5e4


@dataclass(frozen=True)
class Cost:
    """Floating point operations, and the bytes that go through memory on the way.

    `lost` is what small matrix products waste, in the operations a large one would have done in
    that time. It enters the choice of a route, never the reported FLOPs.
    """

    flops: float
    bytes: float
    lost: float = 0.0
