"""VGG for 32 x 32 images (Simonyan and Zisserman 2014, https://arxiv.org/abs/1409.1556)."""

from __future__ import annotations

from collections import OrderedDict

from torch import nn

from ntkexp.config import VGGConfig
from ntkexp.errors import UserError

# depth -> how many 3x3 convolutions each of the five resolutions has
CONVOLUTIONS = {
    11: (1, 1, 2, 2, 2),
    13: (2, 2, 2, 2, 2),
    16: (2, 2, 3, 3, 3),
    19: (2, 2, 4, 4, 4),
}
# channels of the five resolutions in units of base: 64, 128, 256, 512, 512 where base is 64
CHANNELS = (1, 2, 4, 8, 8)


def vgg(config: VGGConfig, input_shape: tuple[int, ...], outputs: int) -> nn.Sequential:
    """3x3 convolutions with bias and ReLU, a 2x2 max pool after each of five resolutions, and
    one linear layer of the 8 * base channels that are left. No normalisation layers.

    `depth` counts the layers with weights of the original network, whose head had two more
    linear layers: VGG19 has 16 convolutions, conv1 ... conv16, and fc.

    >>> vgg(VGGConfig(depth=11, base=4), (3, 32, 32), 10).fc
    Linear(in_features=32, out_features=10, bias=True)
    """
    if config.depth not in CONVOLUTIONS:
        depths = ", ".join(map(str, CONVOLUTIONS))
        raise UserError(f"model.depth={config.depth}: vgg comes in depths {depths}")
    if config.base < 1:
        raise UserError(f"model.base={config.base}: vgg has 1 channel or more in its first layer")
    if input_shape[1:] != (32, 32):
        raise UserError(
            f"model.name=vgg: takes 32x32 images such as cifar10's, the data has inputs of "
            f"{'x'.join(map(str, input_shape))} (for mnist and kmnist take mlp or resnet18)"
        )
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    channels_in, index = input_shape[0], 0
    for stage, (convolutions, multiple) in enumerate(
        zip(CONVOLUTIONS[config.depth], CHANNELS, strict=True), start=1
    ):
        for _ in range(convolutions):
            index += 1
            channels = multiple * config.base
            layers[f"conv{index}"] = nn.Conv2d(channels_in, channels, kernel_size=3, padding=1)
            layers[f"relu{index}"] = nn.ReLU()
            channels_in = channels
        layers[f"pool{stage}"] = nn.MaxPool2d(2)
    layers["flatten"] = nn.Flatten()
    layers["fc"] = nn.Linear(channels_in, outputs)
    return nn.Sequential(layers)
