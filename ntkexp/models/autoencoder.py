"""The deep auto-encoder of digits on which optimisers are compared (Hinton and Salakhutdinov 2006).

ntkexp train data=mnist data.standardise=none objective=reconstruction objective.loss=bernoulli \\
    model=autoencoder model.width=500 'probe=[]' optim.steps=100
"""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import nn

from ntkexp.models.base import Init, Model
from ntkexp.options import count, option

# Units of the encoder's layers where the first has 1,000.
UNITS = (1000, 500, 250, 30)
# Martens, "Deep learning via Hessian-free optimization", 2010.
WEIGHTS_OF_A_UNIT = 15


@dataclass
class Autoencoder(Model):
    """Encoder and decoder of sigmoid layers, and a linear output for each number of the input.

    The encoder has 1, 1/2, 1/4 and 3/100 of `width` units, the decoder the same in reverse, all
    with weights of their own: encoder1 ... encoder4, decoder1 ... decoder3, output. With
    `init: default` each unit begins with 15 weights from N(0, 1), the others 0, and bias 0.

    >>> net = Autoencoder().build((1, 28, 28), 784)
    >>> sum(weight.numel() for weight in net.parameters())
    2837314
    >>> sorted({int((row != 0).sum()) for row in net.encoder2.weight})
    [15]
    """

    small: ClassVar = {"width": 200}
    tiny: ClassVar = {"width": 40}
    size_key: ClassVar[str] = "width"

    init: Init = option(Init.default, about="default draws 15 weights a unit (Martens 2010)")
    width: int = option(1000, count("units"), "units of the first layer")
    batch_norm: bool = option(False, about="batch normalisation before each sigmoid")

    def couples_examples(self) -> bool:
        return self.batch_norm

    def build(self, inputs: tuple[int, ...], outputs: int) -> nn.Module:
        encoder = [max(1, self.width * units // UNITS[0]) for units in UNITS]
        names = [f"encoder{place}" for place in range(1, 5)]
        names += [f"decoder{place}" for place in range(1, 4)]
        layers: OrderedDict[str, nn.Module] = OrderedDict(flatten=nn.Flatten())
        fan_in = math.prod(inputs)
        for name, units in zip(names, [*encoder, *encoder[-2::-1]], strict=True):
            layers[name] = _sparse(fan_in, units)
            if self.batch_norm:
                layers[f"norm_{name}"] = nn.BatchNorm1d(units)
            layers[f"sigmoid_{name}"] = nn.Sigmoid()
            fan_in = units
        layers["output"] = _sparse(fan_in, outputs)
        return nn.Sequential(layers)


def _sparse(fan_in: int, units: int) -> nn.Linear:
    """A linear layer whose units have 15 weights each, or as many as there are inputs."""
    layer = nn.Linear(fan_in, units)
    if not layer.weight.is_meta:  # there are no numbers to draw
        order = torch.rand(units, fan_in).argsort(1)[:, :WEIGHTS_OF_A_UNIT]
        drawn = torch.randn(order.shape)
        with torch.no_grad():
            layer.weight.zero_().scatter_(1, order, drawn)
            layer.bias.zero_()
    return layer
