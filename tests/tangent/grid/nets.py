"""Some hundred small nets as data: name -> (build, inputs). All are taken in float64."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tests.tangent.grid.broadcast import BROADCAST
from tests.tangent.grid.images import NORMS, TRANSPOSED
from tests.tangent.grid.mixed import MIXED
from tests.tangent.grid.parts import Net
from tests.tangent.grid.plain import PLAIN, SHARED
from tests.tangent.grid.routed import ROUTED
from tests.tangent.grid.sequences import SEQUENCES
from tests.tangent.grid.traps import TRAPS
from tests.tangent.grid.unusual import UNUSUAL

NETS: dict[str, Net] = {
    **TRANSPOSED,
    **NORMS,
    **PLAIN,
    **SHARED,
    **BROADCAST,
    **SEQUENCES,
    **UNUSUAL,
    **MIXED,
    **ROUTED,
    **TRAPS,
}


def built(name: str) -> tuple[nn.Module, Tensor]:
    """The net in float64 and evaluation mode, and its inputs, the same every time."""
    build, inputs = NETS[name]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        model, batch = build().double().eval(), inputs()
    return model, batch.double() if batch.is_floating_point() else batch
