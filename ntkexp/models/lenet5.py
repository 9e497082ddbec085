"""LeNet5 (LeCun et al. 1998), with the paddings and pools of Ortiz-Jimenez et al. 2021.

ntkexp train +exp=linearised/lenet
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from ntkexp.models.activations import MODULES, Activation
from ntkexp.models.base import Model
from ntkexp.options import count, option


@dataclass
class Lenet5(Model):
    """Two 5x5 convolutions of base and 8/3 base channels, conv1 and conv2, which keep the size of
    an image, each with an average over 2x2; then fc1 and fc2 of 20 and 14 base units, and fc3.

    >>> sum(weight.numel() for weight in Lenet5().build((3, 32, 32), 1).parameters())
    136121
    """

    small: ClassVar = {"base": 6}
    tiny: ClassVar = {"base": 3}
    size_key: ClassVar[str] = "base"
    least_side: ClassVar[int] = 4

    base: int = option(6, count("channels"), "channels of the first convolution")
    activation: Activation = option(Activation.relu, about="what follows a layer")

    def build(self, inputs: tuple[int, ...], outputs: int) -> nn.Module:
        channels, height, width = inputs
        second = 8 * self.base // 3
        active = MODULES[self.activation]
        features = second * (height // 4) * (width // 4)
        return nn.Sequential(
            OrderedDict(
                conv1=nn.Conv2d(channels, self.base, kernel_size=5, padding=2),
                active1=active(),
                pool1=nn.AvgPool2d(2),
                conv2=nn.Conv2d(self.base, second, kernel_size=5, padding=2),
                active2=active(),
                pool2=nn.AvgPool2d(2),
                flatten=nn.Flatten(),
                fc1=nn.Linear(features, 20 * self.base),
                active3=active(),
                fc2=nn.Linear(20 * self.base, 14 * self.base),
                active4=active(),
                fc3=nn.Linear(14 * self.base, outputs),
            )
        )
