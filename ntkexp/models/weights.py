"""The weights that a network starts from: drawn, or those of another run."""

from __future__ import annotations

import math
import re
from typing import Literal

import torch
from torch import nn

from ntkexp.errors import UserError
from ntkexp.models.base import Init
from ntkexp.references import StartFrom

# The buffers of batch normalisation.
STATISTICS = ("running_mean", "running_var", "num_batches_tracked")


def initialise(model: nn.Module, init: Init, generator: torch.Generator) -> None:
    """Draw the weights of all linear and convolution layers anew, in network order.

    kaiming: W ~ N(0, 2 / fan_in), b = 0 (He et al. 2015, https://arxiv.org/abs/1502.01852).
    lecun: W ~ N(0, 1 / fan_in), b = 0 (LeCun et al. 1998, "Efficient BackProp").
    residual: kaiming, but W ~ N(0, 1 / fan_in) where no activation comes before, in the first layer
    and in shortcuts, and N(0, 0.2 / fan_in) in the last convolution of a block (George's thesis,
    A.3).
    default: what PyTorch's constructors left, W and b ~ U(-1/sqrt(fan_in), 1/sqrt(fan_in)).
    Zero biases make a ReLU network positively homogeneous; Figures 1 and 8 need `default`.

    >>> layer = nn.Linear(2, 2)
    >>> initialise(layer, Init.kaiming, torch.Generator())
    >>> layer.bias.tolist()
    [0.0, 0.0]
    """
    if init is Init.default:
        return
    gain: Literal["relu", "linear"] = "linear" if init is Init.lecun else "relu"
    first = True
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear | nn.Conv1d | nn.Conv2d | nn.Conv3d):
            nn.init.kaiming_normal_(module.weight, nonlinearity=gain, generator=generator)
            if init is Init.residual:
                with torch.no_grad():
                    module.weight.mul_(_residual_factor(name, first))
            first = False
            if module.bias is not None:
                nn.init.zeros_(module.bias)


def _residual_factor(name: str, first: bool) -> float:
    """What weights have instead of those of kaiming."""
    if first or name.endswith(".shortcut"):
        return math.sqrt(1 / 2)
    return math.sqrt(1 / 10) if re.search(r"block\d+\.conv2$", name) else 1.0


def start_from(model: nn.Module, source: StartFrom) -> None:
    """Take over the weights of `source`, but those that `source.fresh` names, and its statistics,
    unless `source.reset_statistics`."""
    kept, drawn = source.tensors(), model.state_dict()
    fresh = (
        {name for name in drawn if name.startswith(tuple(source.fresh))} if source.fresh else set()
    )
    for beginning in source.fresh:
        if not any(name.startswith(beginning) for name in drawn):
            raise UserError(
                f"weights.fresh={source.fresh}: no parameter begins with {beginning}; there are "
                f"{', '.join(drawn)}"
            )
    if source.reset_statistics:
        fresh |= {name for name in drawn if name.endswith(STATISTICS)}
    wanted = {name: tensor for name, tensor in drawn.items() if name not in fresh}
    for name, tensor in wanted.items():
        if name not in kept:
            raise UserError(f"weights: {source.path} has no {name}; expected a network like this")
        if kept[name].shape != tensor.shape:
            raise UserError(
                f"weights: {name} of {source.path} has shape {tuple(kept[name].shape)}; this "
                f"network's has {tuple(tensor.shape)}"
            )
    if left := sorted(kept.keys() - drawn.keys()):
        raise UserError(f"weights: {source.path} has {left[0]} too; expected a network like this")
    model.load_state_dict({**drawn, **{name: kept[name] for name in wanted}})
