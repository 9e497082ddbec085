"""The multilayer perceptron, for any data.

ntkexp train +exp=mlp_mnist model.depth=3 model.width=60
"""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from ntkexp.models.activations import MODULES, Activation
from ntkexp.models.base import Model
from ntkexp.options import count, option


@dataclass
class Mlp(Model):
    """`depth` hidden layers of `width` units and a linear output; inputs are flattened.

    h_0 = x,  h_l = activation(W_l h_{l-1} + b_l) for l = 1..depth,  f = W h_depth + b.

    Every layer has weights of its own. `depth` counts hidden layers, so there are depth + 1
    affine maps, named hidden1 ... hidden<depth> and output.

    >>> [name for name, _ in Mlp(depth=1, width=3).build((2,), 1).named_children()]
    ['flatten', 'hidden1', 'relu1', 'output']
    """

    small: ClassVar = {"width": 64}
    tiny: ClassVar = {"width": 8}
    size_key: ClassVar[str] = "width"

    depth: int = option(6, count("hidden layers", most=1000), "hidden layers")
    width: int = option(80, count("units"), "units of a hidden layer")
    activation: Activation = option(Activation.relu, about="what follows a hidden layer")

    def build(self, inputs: tuple[int, ...], outputs: int) -> nn.Module:
        layers: OrderedDict[str, nn.Module] = OrderedDict(flatten=nn.Flatten())
        fan_in = math.prod(inputs)
        for index in range(1, self.depth + 1):
            layers[f"hidden{index}"] = nn.Linear(fan_in, self.width)
            layers[f"{self.activation}{index}"] = MODULES[self.activation]()
            fan_in = self.width
        layers["output"] = nn.Linear(fan_in, outputs)
        return nn.Sequential(layers)
