"""No transform: the network itself is trained.

ntkexp train +exp=disk transform=plain
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import nn

from ntkexp.transforms.base import Transform, Transformed

if TYPE_CHECKING:
    from ntkexp.data import Split


@dataclass
class Plain(Transform):
    """The network as it is."""

    def build(self, network: nn.Module, train: Split) -> Transformed:
        return Transformed(network)
