"""The disk: points of the plane, told apart by whether they lie in a disk (Figures 1 and 10).

ntkexp train +exp=disk data.train_examples=200
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ntkexp.data.points.plane import Plane

if TYPE_CHECKING:
    import torch

    from ntkexp.data.dataset import Dataset

RADIUS = math.sqrt(2 / math.pi)  # the disk covers half of the square


@dataclass
class Disk(Plane):
    """Points uniform in the square [-1, 1]^2, told apart by whether they lie in the disk that
    covers half of it; the test set is a grid x grid lattice of the square."""

    small: ClassVar = {"train_examples": 2000}
    marks: ClassVar = 2

    def build(self, seed: int, device: torch.device, *, progress: bool) -> Dataset:
        from ntkexp.data.points.disk import load_disk

        return load_disk(self, seed, device)
