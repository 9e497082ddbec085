"""The multilayer perceptron, for any data.

ntkexp train +exp=mlp_mnist model.depth=3 model.width=60
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ntkexp.models.base import Model
from ntkexp.options import count, option

if TYPE_CHECKING:
    from torch import nn


@dataclass
class Mlp(Model):
    """`depth` hidden layers of `width` ReLU units each, and a linear output.

    >>> Mlp(depth=1, width=3).parameters((2,), outputs=1)
    13
    """

    small: ClassVar = {"width": 64}
    size_key: ClassVar[str] = "width"

    depth: int = option(6, count("hidden layers", most=1000))
    width: int = option(80, count("units"))

    def parameters(self, inputs: tuple[int, ...], outputs: int) -> int:
        width = self.width
        hidden = (self.depth - 1) * (width + 1) * width
        return (math.prod(inputs) + 1) * width + hidden + (width + 1) * outputs

    def multiplications(self, inputs: tuple[int, ...], outputs: int) -> int:
        hidden = (self.depth - 1) * self.width**2
        return math.prod(inputs) * self.width + hidden + self.width * outputs

    def build(self, inputs: tuple[int, ...], outputs: int) -> nn.Module:
        from ntkexp.models.networks.mlp import mlp

        return mlp(self, inputs, outputs)
