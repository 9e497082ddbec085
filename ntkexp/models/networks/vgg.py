"""VGG for 32 x 32 images (Simonyan and Zisserman 2014, https://arxiv.org/abs/1409.1556)."""

from __future__ import annotations

from collections import OrderedDict

from torch import nn

from ntkexp.models.vgg import CHANNELS, CONVOLUTIONS, Vgg


def vgg(config: Vgg, input_shape: tuple[int, ...], outputs: int) -> nn.Sequential:
    """3x3 convolutions with bias and ReLU, a 2x2 max pool after each of five resolutions, and
    one linear layer of the 8 * base channels that are left. No normalisation layers.

    `depth` counts the layers with weights of the original network, whose head had two more
    linear layers: VGG19 has 16 convolutions, conv1 ... conv16, and fc.

    >>> vgg(Vgg(depth=11, base=4), (3, 32, 32), 10).fc
    Linear(in_features=32, out_features=10, bias=True)
    """
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
