"""The layers of a network that draw random numbers in training, such as dropout."""

from __future__ import annotations

from torch import nn
from torch.nn.modules.dropout import _DropoutNd

# A module of your own that draws random numbers in training says so by an attribute of this name.
MARK = "draws"


def drawing_layers(model: nn.Module) -> list[str]:
    """The names of the modules that draw random numbers in training."""
    return [name for name, module in model.named_modules() if _draws(module)]


def _draws(module: nn.Module) -> bool:
    if isinstance(module, _DropoutNd):
        return module.p > 0
    if isinstance(module, nn.RNNBase | nn.MultiheadAttention):
        return module.dropout > 0
    return isinstance(module, nn.RReLU) or bool(getattr(module, MARK, False))
