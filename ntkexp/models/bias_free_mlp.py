"""The multilayer perceptron without biases, in four parametrisations.

ntkexp train data=fitted_digits model=bias_free_mlp model.weights=lecun optim.epochs=500
"""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ntkexp.errors import UserError
from ntkexp.models.base import Init, Model
from ntkexp.options import count, option, positive


class Weights(StrEnum):
    """The distribution of a layer W x of n inputs at the start.

    he: W ~ N(0, 2/n). lecun: W ~ N(0, 1/n). torch_default: W ~ U(-1/sqrt n, 1/sqrt n).
    ntk_he: W ~ N(0, 1), and the layer is sqrt(2/n) W x, the output sqrt(1/n) W x.
    """

    he = "he"
    lecun = "lecun"
    torch_default = "torch_default"
    ntk_he = "ntk_he"


class Activation(StrEnum):
    """linear: none at all, so that the network is a product of matrices."""

    relu = "relu"
    linear = "linear"


@dataclass
class BiasFreeMlp(Model):
    """`depth` hidden layers of `width` units and a linear output, none with a bias.

    h_0 = x,  h_l = relu(c_l W_l h_{l-1}) for l = 1..depth,  f = c W h_depth.

    All weights are `gain` times what `weights` draws. Layers are named hidden1 ... hidden<depth>
    and output; c is 1 but for `ntk_he`, where each is preceded by a module that multiplies by it.

    >>> BiasFreeMlp(depth=1, width=3).build((2,), 1).hidden1
    Linear(in_features=2, out_features=3, bias=False)
    """

    small: ClassVar = {"width": 64}
    tiny: ClassVar = {"width": 8}
    size_key: ClassVar[str] = "width"

    init: Init = option(Init.default, about="default leaves them as `weights` draws them")
    weights: Weights = option(Weights.he, about="how weights are drawn; ntk_he scales layers")
    gain: float = option(1.0, positive(1e6), "a factor of all weights at the start")
    activation: Activation = option(Activation.relu, about="what follows a hidden layer")
    depth: int = option(2, count("hidden layers", most=1000), "hidden layers")
    width: int = option(128, count("units"), "units of a hidden layer")

    def check(self, config: Any = None) -> None:
        if self.init is not Init.default:
            raise UserError(
                f"model.init={self.init}: model={self.name} draws its weights by model.weights, "
                f"{', '.join(Weights)}; expected model.init=default"
            )

    def build(self, inputs: tuple[int, ...], outputs: int) -> nn.Module:
        layers: OrderedDict[str, nn.Module] = OrderedDict(flatten=nn.Flatten())
        fan_in = math.prod(inputs)
        for index in range(1, self.depth + 1):
            _add(layers, f"hidden{index}", self.weights, fan_in, self.width, gain=2.0)
            if self.activation is Activation.relu:
                layers[f"relu{index}"] = nn.ReLU()
            fan_in = self.width
        _add(layers, "output", self.weights, fan_in, outputs, gain=1.0)
        network = nn.Sequential(layers)
        if self.gain != 1:
            with torch.no_grad():
                for weight in network.parameters():
                    weight.mul_(self.gain)
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
    # On the device "meta" (Model.unseen) there are no numbers to draw, and PyTorch would load its
    # compiler to draw none.
    if weights in spread and not linear.weight.is_meta:
        nn.init.normal_(linear.weight, std=spread[weights])
    layers[name] = linear


class Times(nn.Module):
    """x -> factor x."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x: Tensor) -> Tensor:
        return self.factor * x
