"""The yin-yang of two classes: points of the plane in large areas and in two small discs (5.3.1).

    ntkexp train +exp=lazy/yin_yang data.train_examples=200

It is that of George's thesis, Figure 5.1, and not the published set of three classes of that name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ntkexp.data.base import Data, Shape
from ntkexp.machine.memory import available_bytes, refuse_beyond
from ntkexp.options import count, option, whole

if TYPE_CHECKING:
    import torch

    from ntkexp.data.dataset import Dataset

# As they are made: two coordinates in float64 and in float32, a label, five marks.
BYTES_PER_POINT = 2 * 8 + 2 * 4 + 8 + 5


@dataclass
class YinYang(Data):
    """Points uniform in [-1, 1]^2, the lower half against the upper, the other way round in a disc
    of each; the test set is a grid x grid lattice of the square.

    Its groups: `discs`; `between` them and the boundary; and `open`, the quarters without a disc.
    """

    train_examples: int = option(100, count("examples"))
    grid: int = option(50, whole(2, 1_000_000, "points a side"))

    def check(self, config: Any = None) -> None:
        """Refuse more points than fit into memory."""
        for key, points in (("train_examples", self.train_examples), ("grid", self.grid**2)):
            refuse_beyond(
                f"data.{key}={getattr(self, key)}",
                f"{points:,} points",
                BYTES_PER_POINT * points,
                available_bytes(),
            )

    def shape(self) -> Shape:
        return Shape(inputs=(2,), outputs=1, examples=self.train_examples)

    def build(self, seed: int, device: torch.device, *, progress: bool) -> Dataset:
        from ntkexp.data.points.yin_yang import load_yin_yang

        return load_yin_yang(self, seed, device)
