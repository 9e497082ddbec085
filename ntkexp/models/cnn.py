"""A small convolutional network, for 32x32 photographs and 28x28 digits alike.

ntkexp train +exp=vgg19_clean model=cnn model.base=16
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from ntkexp.models.activations import MODULES, Activation
from ntkexp.models.base import Model
from ntkexp.options import count, option

# Channels in units of base, and how often the sides of an image are halved.
CHANNELS = (1, 2, 4)


@dataclass
class Cnn(Model):
    """Three 3x3 convolutions of base, 2 base and 4 base channels, conv1 to conv3, each with bias,
    activation and a 2x2 max pool, and one linear layer on all that is left, fc; no normalisation.

    >>> Cnn(base=4).build((3, 32, 32), 10).fc
    Linear(in_features=256, out_features=10, bias=True)
    """

    small: ClassVar = {"base": 8}
    tiny: ClassVar = {"base": 2}
    size_key: ClassVar[str] = "base"
    least_side: ClassVar[int] = 2 ** len(CHANNELS)

    base: int = option(16, count("channels"), "channels of the first layer")
    activation: Activation = option(Activation.relu, about="what follows a convolution")

    def build(self, inputs: tuple[int, ...], outputs: int) -> nn.Module:
        layers: OrderedDict[str, nn.Module] = OrderedDict()
        before, height, width = inputs
        for index, multiple in enumerate(CHANNELS, start=1):
            after = multiple * self.base
            layers[f"conv{index}"] = nn.Conv2d(before, after, kernel_size=3, padding=1)
            layers[f"{self.activation}{index}"] = MODULES[self.activation]()
            layers[f"pool{index}"] = nn.MaxPool2d(2)
            before, height, width = after, height // 2, width // 2
        layers["flatten"] = nn.Flatten()
        layers["fc"] = nn.Linear(before * height * width, outputs)
        return nn.Sequential(layers)
