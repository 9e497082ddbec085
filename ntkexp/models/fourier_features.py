"""Random Fourier features and a linear output: the interpolant of a Gaussian kernel.

ntkexp train +exp=spectral/petal_features
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from ntkexp.models.base import Model
from ntkexp.options import count, option, positive


@dataclass
class FourierFeatures(Model):
    """f(x) = w . cos(Omega x + b), Omega ~ N(0, scale^2) and b ~ U(0, 2 pi) fixed.

    The kernel of the features tends to exp(-scale^2 |x - y|^2 / 2).
    """

    tiny: ClassVar = {"width": 8}
    size_key: ClassVar[str] = "width"

    width: int = option(4096, count("features"), "how many features")
    scale: float = option(100.0, positive(1e6), "deviation of their angular frequencies")

    def build(self, inputs: tuple[int, ...], outputs: int) -> nn.Module:
        waves = Waves(math.prod(inputs), self.width, self.scale)
        return nn.Sequential(nn.Flatten(), waves, nn.Linear(self.width, outputs, bias=False))


class Waves(nn.Module):
    """x -> sqrt(2 / width) cos(Omega x + b)."""

    def __init__(self, inputs: int, width: int, scale: float) -> None:
        super().__init__()
        self.register_buffer("frequencies", scale * torch.randn(width, inputs))
        self.register_buffer("phases", 2 * math.pi * torch.rand(width))

    def forward(self, x: Tensor) -> Tensor:
        angles = x @ self.get_buffer("frequencies").T + self.get_buffer("phases")
        return math.sqrt(2 / len(self.get_buffer("phases"))) * angles.cos()
