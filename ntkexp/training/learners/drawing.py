"""Layers that draw random numbers, such as dropout: in training, from a stream of their own.

PyTorch's layers know the global generator only. It is lent the stream of the step, so that a run
that was interrupted draws what it would have drawn; nothing of it is a part of a checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn
from torch.nn.modules.dropout import _DropoutNd

from ntkexp.machine import on_gpu
from ntkexp.seeds import derived_seed

# A module of one's own says so by an attribute of this name.
MARK = "draws"


def drawing_layers(model: nn.Module) -> list[str]:
    """The names of the modules that draw in training."""
    return [name for name, module in model.named_modules() if _draws(module)]


def _draws(module: nn.Module) -> bool:
    if isinstance(module, _DropoutNd):
        return module.p > 0
    return isinstance(module, nn.RReLU) or bool(getattr(module, MARK, False))


@contextmanager
def drawing(seed: int, step: int, device: torch.device) -> Iterator[None]:
    """Inside this block the global generators give the stream of this step."""
    with torch.random.fork_rng(devices=[device] if on_gpu(device) else []):
        torch.manual_seed(derived_seed(seed, "layers", step))
        yield
