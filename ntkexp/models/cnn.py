"""A small convolutional network, for 32x32 photographs and 28x28 digits alike.

ntkexp train +exp=vgg19_clean model=cnn model.base=16
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ntkexp.errors import UserError
from ntkexp.models.base import Model, formatted_shape
from ntkexp.options import count, option

if TYPE_CHECKING:
    from torch import nn

# Channels in units of base, and how often the sides of an image are halved.
CHANNELS = (1, 2, 4)
LEAST_SIDE = 2 ** len(CHANNELS)


@dataclass
class Cnn(Model):
    """Three 3x3 convolutions of base, 2 base and 4 base channels, each with ReLU and a 2x2 max
    pool, and one linear layer on all that is left.

    >>> Cnn(base=4).parameters((3, 32, 32), outputs=10)
    4146
    """

    small: ClassVar = {"base": 8}
    size_key: ClassVar[str] = "base"

    base: int = option(16, count("channels"))

    def refuse_inputs(self, inputs: tuple[int, ...]) -> None:
        if len(inputs) != 3 or min(inputs[1:]) < LEAST_SIDE:
            raise UserError(
                f"model.name=cnn: takes images of {LEAST_SIDE}x{LEAST_SIDE} and more, the data has "
                f"inputs of {formatted_shape(inputs)}"
            )

    def convolutions(self, inputs: tuple[int, ...]) -> Iterator[tuple[int, int, int]]:
        """(positions, channels in, channels out) of each."""
        before, height, width = inputs
        for stage, multiple in enumerate(CHANNELS):
            after = multiple * self.base
            yield (height >> stage) * (width >> stage), before, after
            before = after

    def features(self, inputs: tuple[int, ...]) -> int:
        """Numbers that the linear layer takes."""
        stages = len(CHANNELS)
        return CHANNELS[-1] * self.base * (inputs[1] >> stages) * (inputs[2] >> stages)

    def parameters(self, inputs: tuple[int, ...], outputs: int) -> int:
        each = [(9 * before + 1) * after for _, before, after in self.convolutions(inputs)]
        return sum(each) + (self.features(inputs) + 1) * outputs

    def multiplications(self, inputs: tuple[int, ...], outputs: int) -> int:
        each = [9 * before * after * d for d, before, after in self.convolutions(inputs)]
        return sum(each) + self.features(inputs) * outputs

    def build(self, inputs: tuple[int, ...], outputs: int) -> nn.Module:
        from ntkexp.models.networks.cnn import cnn

        return cnn(self, inputs, outputs)
