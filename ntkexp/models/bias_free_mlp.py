"""The multilayer perceptron without biases, in four parametrisations.

ntkexp train data=fitted_digits model=bias_free_mlp model.weights=lecun optim.epochs=500
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

from ntkexp.errors import UserError
from ntkexp.models.base import Init, Model
from ntkexp.options import count, option, positive

if TYPE_CHECKING:
    from torch import nn


class Weights(StrEnum):
    """What a layer W x of n inputs starts from.

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

    All weights are `gain` times what `weights` draws.

    >>> BiasFreeMlp(depth=1, width=3).parameters((2,), outputs=1)
    9
    """

    small: ClassVar = {"width": 64}
    size_key: ClassVar[str] = "width"

    # The weights are drawn by `weights`; the general rule leaves them.
    init: Init = Init.default
    weights: Weights = Weights.he
    gain: float = option(1.0, positive(1e6))
    activation: Activation = Activation.relu
    depth: int = option(2, count("hidden layers", most=1000))
    width: int = option(128, count("units"))

    def check(self, config: Any = None) -> None:
        if self.init is not Init.default:
            raise UserError(
                f"model.init={self.init}: model={self.name} draws its weights by model.weights, "
                f"{', '.join(Weights)}; expected model.init=default"
            )

    def parameters(self, inputs: tuple[int, ...], outputs: int) -> int:
        return self.multiplications(inputs, outputs)

    def multiplications(self, inputs: tuple[int, ...], outputs: int) -> int:
        hidden = (self.depth - 1) * self.width**2
        return math.prod(inputs) * self.width + hidden + self.width * outputs

    def build(self, inputs: tuple[int, ...], outputs: int) -> nn.Module:
        from ntkexp.models.networks.bias_free_mlp import bias_free_mlp

        return bias_free_mlp(self, inputs, outputs)
