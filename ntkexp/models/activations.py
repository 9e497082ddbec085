"""The activations of networks that have a choice."""

from __future__ import annotations

from enum import StrEnum

from torch import nn


class Activation(StrEnum):
    """relu: max(x, 0). gelu: x Phi(x), which has all derivatives."""

    relu = "relu"
    gelu = "gelu"


MODULES: dict[Activation, type[nn.Module]] = {Activation.relu: nn.ReLU, Activation.gelu: nn.GELU}
