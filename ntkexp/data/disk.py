"""The disk: points of the plane, told apart by whether they lie in a disk (Figures 1 and 10).

ntkexp train +exp=disk data.train_examples=200
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ntkexp.data.base import Data, Shape
from ntkexp.machine.memory import available_bytes, refuse_beyond
from ntkexp.options import count, option, whole

if TYPE_CHECKING:
    import torch

    from ntkexp.data.dataset import Dataset

# As they are made: two coordinates in float64 and in float32, a label, two marks.
BYTES_PER_POINT = 2 * 8 + 2 * 4 + 8 + 2
RADIUS = math.sqrt(2 / math.pi)  # the disk covers half of the square


@dataclass
class Disk(Data):
    """Points uniform in the square [-1, 1]^2, told apart by whether they lie in the disk that
    covers half of it; the test set is a grid x grid lattice of the square."""

    small: ClassVar = {"train_examples": 2000}

    train_examples: int = option(500, count("examples"))
    grid: int = option(50, whole(2, 1_000_000, "points a side"))

    def check(self, config: Any = None) -> None:
        """Refuse more points than fit into memory."""
        for key, points in (("train_examples", self.train_examples), ("grid", self.grid**2)):
            refuse_beyond(
                f"data.{key}={getattr(self, key)}",
                f"{points:,} points",
                BYTES_PER_POINT * points,
                available_bytes(),
            )

    def shape(self) -> Shape:
        return Shape(inputs=(2,), outputs=1, examples=self.train_examples)

    def build(self, seed: int, device: torch.device, *, progress: bool) -> Dataset:
        from ntkexp.data.points.disk import load_disk

        return load_disk(self, seed, device)
