"""The yin-yang of two classes: points of the plane in large areas and in two small discs (5.3.1).

    ntkexp train +exp=lazy/yin_yang data.train_examples=200

It is that of George's thesis, Figure 5.1, and not the published set of three classes of that name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ntkexp.data.points.plane import Plane
from ntkexp.options import count, option

if TYPE_CHECKING:
    import torch

    from ntkexp.data.dataset import Dataset


@dataclass
class YinYang(Plane):
    """Points uniform in [-1, 1]^2, the lower half against the upper, the other way round in a disc
    of each; the test set is a grid x grid lattice of the square.

    Its groups: `discs`; `between` them and the boundary; and `open`, the quarters without a disc.
    """

    marks: ClassVar = 5

    train_examples: int = option(100, count("examples"))

    def build(self, seed: int, device: torch.device, *, progress: bool) -> Dataset:
        from ntkexp.data.points.yin_yang import load_yin_yang

        return load_yin_yang(self, seed, device)
