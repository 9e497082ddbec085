"""Some hundred small nets as data: name -> (build, inputs). All are taken in float64."""

from __future__ import annotations

import torch
from grid_broadcast import BROADCAST
from grid_images import NORMS, convolutions
from grid_parts import Net
from grid_plain import PLAIN, SHARED
from grid_sequences import SEQUENCES
from grid_unusual import UNUSUAL
from torch import Tensor, nn

NETS: dict[str, Net] = {
    **dict(convolutions()),
    **NORMS,
    **PLAIN,
    **SHARED,
    **BROADCAST,
    **SEQUENCES,
    **UNUSUAL,
}


def built(name: str) -> tuple[nn.Module, Tensor]:
    """The net in float64 and evaluation mode, and its inputs, the same every time."""
    build, inputs = NETS[name]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        model, batch = build().double().eval(), inputs()
    return model, batch.double() if batch.is_floating_point() else batch
