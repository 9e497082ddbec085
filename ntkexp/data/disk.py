"""The disk: points of the plane, told apart by whether they lie in a disk (Figures 1 and 10).

ntkexp train +exp=disk data.train_examples=200
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from ntkexp.data.dataset import Dataset, Split
from ntkexp.data.points import RADIUS, Plane
from ntkexp.seeds import generator


@dataclass
class Disk(Plane):
    """Points uniform in the square [-1, 1]^2, told apart by whether they lie in the disk that
    covers half of it; the test set is a grid x grid lattice of the square."""

    small: ClassVar = {"train_examples": 2000}

    def build(self, seed: int, device: torch.device, *, progress: bool) -> Dataset:
        """The label is 1 where the radius is at most sqrt(2/pi), else 0."""
        count = self.train_examples
        draws = torch.rand(count, 2, generator=generator(seed, "disk"), dtype=torch.float64)
        return Dataset(
            name="disk",
            train=_split((2 * draws - 1).float(), device),
            test=_split(lattice(self.grid), device),
            classes=2,
            input_shape=(2,),
            checksums={},
        )


def lattice(grid: int) -> Tensor:
    """(grid * grid, 2) points (x, y), both in linspace(-1, 1, grid), row by row of equal y.

    So values on it, reshaped to (grid, grid), are an image whose first row is y = -1: draw it
    with the origin below.

    >>> lattice(2).tolist()
    [[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]]
    """
    side = torch.linspace(-1, 1, grid)
    y, x = torch.meshgrid(side, side, indexing="ij")
    return torch.stack([x.flatten(), y.flatten()], dim=1)


def _split(points: Tensor, device: torch.device) -> Split:
    inside = (points.double().norm(dim=1) <= RADIUS).to(torch.int64)
    return Split.clean(points.to(device), inside.to(device))
