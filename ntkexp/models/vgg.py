"""VGG for 32x32 images (Simonyan and Zisserman 2014, https://arxiv.org/abs/1409.1556).

ntkexp train +exp=vgg19_clean model=vgg11 model.base=16
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from ntkexp.errors import UserError
from ntkexp.models.base import Model, formatted_shape
from ntkexp.options import count, one_of, option

if TYPE_CHECKING:
    from torch import nn

# depth -> how many 3x3 convolutions each of the five resolutions has
CONVOLUTIONS = {
    11: (1, 1, 2, 2, 2),
    13: (2, 2, 2, 2, 2),
    16: (2, 2, 3, 3, 3),
    19: (2, 2, 4, 4, 4),
}
# channels of the five resolutions in units of base: 64, 128, 256, 512, 512 where base is 64
CHANNELS = (1, 2, 4, 8, 8)


@dataclass
class Vgg(Model):
    """3x3 convolutions and one linear layer; base is the width knob, depth the number in its name.

    configs/model/ has vgg11, vgg13, vgg16 and vgg19.
    """

    small: ClassVar = {"base": 8}
    size_key: ClassVar[str] = "base"

    depth: int = option(19, one_of(*CONVOLUTIONS))
    base: int = option(64, count("channels"))

    def refuse_inputs(self, inputs: tuple[int, ...]) -> None:
        if inputs[1:] != (32, 32):
            raise UserError(
                "model.name=vgg: takes 32x32 images such as cifar10's, the data has inputs of "
                f"{formatted_shape(inputs)} (for mnist and kmnist take mlp or resnet18)"
            )

    def convolutions(self, channels: int) -> Iterator[tuple[int, int, int]]:
        """(resolution from 0, channels in, channels out) of each."""
        stages = zip(CONVOLUTIONS[self.depth], CHANNELS, strict=True)
        found = [(stage, m * self.base) for stage, (n, m) in enumerate(stages) for _ in range(n)]
        for (_, before), (stage, after) in pairwise([(0, channels), *found]):
            yield stage, before, after

    def parameters(self, inputs: tuple[int, ...], outputs: int) -> int:
        each = [(9 * before + 1) * after for _, before, after in self.convolutions(inputs[0])]
        return sum(each) + (CHANNELS[-1] * self.base + 1) * outputs

    def multiplications(self, inputs: tuple[int, ...], outputs: int) -> int:
        side = inputs[-1]
        each = [
            9 * before * after * (side >> stage) ** 2
            for stage, before, after in self.convolutions(inputs[0])
        ]
        return sum(each) + CHANNELS[-1] * self.base * outputs

    def build(self, inputs: tuple[int, ...], outputs: int) -> nn.Module:
        from ntkexp.models.networks.vgg import vgg

        return vgg(self, inputs, outputs)
