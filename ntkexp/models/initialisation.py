"""The weights a network starts from."""

from __future__ import annotations

import torch
from torch import nn

from ntkexp.models.base import Init


def initialise(model: nn.Module, init: Init, generator: torch.Generator) -> None:
    """Draw the weights of all linear and convolution layers anew, in network order.

    kaiming: W ~ N(0, 2 / fan_in), b = 0 (He et al. 2015, https://arxiv.org/abs/1502.01852).
    default: what PyTorch's constructors left, W and b ~ U(-1/sqrt(fan_in), 1/sqrt(fan_in)).
    Zero biases make a ReLU network positively homogeneous; Figures 1 and 8 need `default`.

    >>> layer = nn.Linear(2, 2)
    >>> initialise(layer, Init.kaiming, torch.Generator())
    >>> layer.bias.tolist()
    [0.0, 0.0]
    """
    if init is Init.default:
        return
    for module in model.modules():
        if isinstance(module, nn.Linear | nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu", generator=generator)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
