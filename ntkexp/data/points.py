"""Points of the square [-1, 1]^2 in two classes, for the data sets made of them. No PyTorch: the
figures of the disk draw its radius."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from ntkexp.data.base import Data, Shape
from ntkexp.options import count, option, whole

RADIUS = math.sqrt(2 / math.pi)  # of the disk that covers half of the square


@dataclass
class Plane(Data):
    """Training points in the square; the test set is a grid x grid lattice of it."""

    groups: ClassVar = frozenset()
    tiny: ClassVar = {"train_examples": 40, "grid": 5}

    train_examples: int = option(500, count("examples"), "training points")
    grid: int = option(50, whole(2, 10_000, "points a side"), "points a side of the test lattice")

    def shape(self) -> Shape:
        return Shape(inputs=(2,), outputs=1, examples=self.train_examples)
