"""The multilayer perceptron without biases."""

from __future__ import annotations

import math
from collections import OrderedDict

import torch
from torch import Tensor, nn

from ntkexp.models.bias_free_mlp import Activation, BiasFreeMlp, Weights


def bias_free_mlp(config: BiasFreeMlp, input_shape: tuple[int, ...], outputs: int) -> nn.Sequential:
    """h_0 = x,  h_l = relu(c_l W_l h_{l-1}) for l = 1..depth,  f = c W h_depth.

    Layers are named hidden1 ... hidden<depth> and output; c is 1 but for `ntk_he`, where each is
    preceded by a module that multiplies by it. With `activation: linear` there is no relu.
    """
    layers: OrderedDict[str, nn.Module] = OrderedDict(flatten=nn.Flatten())
    fan_in = math.prod(input_shape)
    for index in range(1, config.depth + 1):
        _add(layers, f"hidden{index}", config.weights, fan_in, config.width, gain=2.0)
        if config.activation is Activation.relu:
            layers[f"relu{index}"] = nn.ReLU()
        fan_in = config.width
    _add(layers, "output", config.weights, fan_in, outputs, gain=1.0)
    network = nn.Sequential(layers)
    if config.gain != 1:
        with torch.no_grad():
            for weight in network.parameters():
                weight.mul_(config.gain)
    return network


def _add(
    layers: OrderedDict[str, nn.Module],
    name: str,
    weights: Weights,
    fan_in: int,
    fan_out: int,
    gain: float,
) -> None:
    """One linear layer; `gain` is the factor of 1 / fan_in in the NTK parametrisation."""
    if weights is Weights.ntk_he:
        layers[f"scale_of_{name}"] = Times(math.sqrt(gain / fan_in))
    # PyTorch's own draw is U(-1/sqrt(fan_in), 1/sqrt(fan_in)).
    linear = nn.Linear(fan_in, fan_out, bias=False)
    spread = {Weights.he: math.sqrt(2 / fan_in), Weights.lecun: fan_in**-0.5, Weights.ntk_he: 1.0}
    if weights in spread:
        nn.init.normal_(linear.weight, std=spread[weights])
    layers[name] = linear


class Times(nn.Module):
    """x -> factor x."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x: Tensor) -> Tensor:
        return self.factor * x
