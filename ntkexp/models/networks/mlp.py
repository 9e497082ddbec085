"""The multilayer perceptron."""

from __future__ import annotations

import math
from collections import OrderedDict

from torch import nn

from ntkexp.models.mlp import Mlp


def mlp(config: Mlp, input_shape: tuple[int, ...], outputs: int) -> nn.Sequential:
    """`depth` hidden layers of `width` ReLU units and a linear output; inputs are flattened.

    h_0 = x,  h_l = relu(W_l h_{l-1} + b_l) for l = 1..depth,  f = W h_depth + b.

    Every layer has weights of its own. `depth` counts hidden layers, so there are depth + 1
    affine maps, named hidden1 ... hidden<depth> and output.

    >>> [name for name, _ in mlp(Mlp(depth=1, width=3), (2,), 1).named_children()]
    ['flatten', 'hidden1', 'relu1', 'output']
    """
    layers: OrderedDict[str, nn.Module] = OrderedDict(flatten=nn.Flatten())
    fan_in = math.prod(input_shape)
    for index in range(1, config.depth + 1):
        layers[f"hidden{index}"] = nn.Linear(fan_in, config.width)
        layers[f"relu{index}"] = nn.ReLU()
        fan_in = config.width
    layers["output"] = nn.Linear(fan_in, outputs)
    return nn.Sequential(layers)
