"""A small convolutional network."""

from __future__ import annotations

from collections import OrderedDict

from torch import nn

from ntkexp.models.cnn import Cnn


def cnn(config: Cnn, input_shape: tuple[int, ...], outputs: int) -> nn.Sequential:
    """Convolutions conv1 to conv3 with bias, and fc; no normalisation layers.

    >>> cnn(Cnn(base=4), (3, 32, 32), 10).fc
    Linear(in_features=256, out_features=10, bias=True)
    """
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    for index, (_, before, after) in enumerate(config.convolutions(input_shape), start=1):
        layers[f"conv{index}"] = nn.Conv2d(before, after, kernel_size=3, padding=1)
        layers[f"relu{index}"] = nn.ReLU()
        layers[f"pool{index}"] = nn.MaxPool2d(2)
    layers["flatten"] = nn.Flatten()
    layers["fc"] = nn.Linear(config.features(input_shape), outputs)
    return nn.Sequential(layers)
