"""Observers of the forward of an update: probes that measure there, and optimisers.

An optimiser that needs more than gradients (inputs and output gradients of layers, as KFAC does)
sets `sees_forward` on its WeightUpdate. Both are called alike: `around_forward` surrounds the
forward of the minibatch, `on_forward` follows it while its graph is whole.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from torch import Tensor, nn


@dataclass(frozen=True)
class Forward:
    """The forward of the minibatch of one update, in train mode, before the backward."""

    step: int
    seed: int
    model: nn.Module
    inputs: Tensor
    outputs: Tensor


class ForwardObserver(Protocol):
    def around_forward(self, model: nn.Module) -> AbstractContextManager[object]:
        """Surrounds the forward."""

    def on_forward(self, forward: Forward) -> None:
        """Looks at the forward. The graph must stay whole."""
