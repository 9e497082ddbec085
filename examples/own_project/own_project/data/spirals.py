"""Two spirals in the plane, one a class."""

from dataclasses import dataclass
from typing import Any

from ntkexp.data.base import Data, Shape
from ntkexp.options import count, option, positive


@dataclass
class Spirals(Data):
    examples: int = option(200, count("examples"), "points of each split")
    turns: float = option(1.5, positive(10), "turns of an arm")

    def shape(self) -> Shape:
        return Shape(inputs=(2,), outputs=1, examples=self.examples)

    def build(self, seed: int, device: Any, *, progress: bool) -> Any:
        import torch

        from ntkexp.data import Dataset, Split
        from ntkexp.seeds import generator

        def points(purpose: str) -> Split:
            radius = torch.rand(self.examples, generator=generator(seed, purpose))
            spiral = torch.arange(self.examples) % 2
            angle = 2 * torch.pi * (self.turns * radius + spiral / 2)
            inputs = radius[:, None] * torch.stack([angle.cos(), angle.sin()], dim=1)
            return Split.clean(inputs.to(device), spiral.to(device))

        train, test = points("spirals"), points("spirals test")
        return Dataset("spirals", train, test, classes=2, input_shape=(2,), checksums={})
