"""VGG for 32x32 images (Simonyan and Zisserman 2014, https://arxiv.org/abs/1409.1556).

ntkexp train +exp=vgg19_clean model=vgg11 model.base=16
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from ntkexp.errors import UserError
from ntkexp.models.activations import MODULES, Activation
from ntkexp.models.base import Model, formatted_shape
from ntkexp.options import count, one_of, option

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
    """3x3 convolutions with bias and activation, a 2x2 max pool after each of five resolutions, and
    one linear layer of the 8 * base channels that are left. No normalisation layers unless
    `batch_norm`.

    `depth` counts the layers with weights of the original network, whose head had two more linear
    layers: VGG19 has 16 convolutions, conv1 ... conv16, and fc. configs/model/ has vgg11, vgg13,
    vgg16 and vgg19.

    >>> Vgg(depth=11, base=4).build((3, 32, 32), 10).fc
    Linear(in_features=32, out_features=10, bias=True)
    """

    small: ClassVar = {"base": 8}
    tiny: ClassVar = {"base": 2}
    size_key: ClassVar[str] = "base"

    depth: int = option(19, one_of(*CONVOLUTIONS), "11, 13, 16 or 19, as in VGG19")
    base: int = option(64, count("channels"), "channels of the first layers")
    activation: Activation = option(Activation.relu, about="what follows a convolution")
    batch_norm: bool = option(False, about="batch normalisation after each convolution")

    def couples_examples(self) -> bool:
        return self.batch_norm

    def refuse_inputs(self, inputs: tuple[int, ...]) -> None:
        if inputs[1:] != (32, 32):
            small = len(inputs) == 3 and max(inputs[1:]) < 32
            way_out = "data.size=32 puts zeros around these" if small else "model=mlp takes any"
            raise UserError(
                "model.name=vgg: takes 32x32 images such as cifar10's, the data has inputs of "
                f"{formatted_shape(inputs)} ({way_out})"
            )

    def build(self, inputs: tuple[int, ...], outputs: int) -> nn.Module:
        layers: OrderedDict[str, nn.Module] = OrderedDict()
        channels_in, index = inputs[0], 0
        for stage, (convolutions, multiple) in enumerate(
            zip(CONVOLUTIONS[self.depth], CHANNELS, strict=True), start=1
        ):
            for _ in range(convolutions):
                index += 1
                channels = multiple * self.base
                layers[f"conv{index}"] = nn.Conv2d(channels_in, channels, kernel_size=3, padding=1)
                if self.batch_norm:
                    layers[f"norm{index}"] = nn.BatchNorm2d(channels)
                layers[f"{self.activation}{index}"] = MODULES[self.activation]()
                channels_in = channels
            layers[f"pool{stage}"] = nn.MaxPool2d(2)
        layers["flatten"] = nn.Flatten()
        layers["fc"] = nn.Linear(channels_in, outputs)
        return nn.Sequential(layers)
