"""Points of the square [-1, 1]^2 in two classes, for the data sets made of them. No PyTorch: the
figures of the disk draw its radius."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from ntkexp.data.base import Data, Shape
from ntkexp.machine import available_bytes, refuse_beyond
from ntkexp.options import count, option, whole

RADIUS = math.sqrt(2 / math.pi)  # of the disk that covers half of the square
# As a point is made: two coordinates in float64 and in float32, and a label.
BYTES_PER_POINT = 2 * 8 + 2 * 4 + 8


@dataclass
class Plane(Data):
    """Training points in the square; the test set is a grid x grid lattice of it.

    `marks` are the masks over the points that a set has, one byte each.
    """

    marks: ClassVar[int] = 0
    tiny: ClassVar = {"train_examples": 40, "grid": 5}

    train_examples: int = option(500, count("examples"))
    grid: int = option(50, whole(2, 1_000_000, "points a side"))

    def check(self, config: Any = None) -> None:
        """Refuse more points than fit into memory."""
        for key, points in (("train_examples", self.train_examples), ("grid", self.grid**2)):
            refuse_beyond(
                f"data.{key}={getattr(self, key)}",
                f"{points:,} points",
                (BYTES_PER_POINT + self.marks) * points,
                available_bytes(),
            )

    def shape(self) -> Shape:
        return Shape(inputs=(2,), outputs=1, examples=self.train_examples)
