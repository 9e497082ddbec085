"""Components of one's own: a network that drops units, and data without an end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from ntkexp.data.base import Data, Shape
from ntkexp.data.dataset import Dataset, Split
from ntkexp.models.base import Model
from ntkexp.options import option, share
from ntkexp.seeds import generator


@dataclass
class Dropping(Model):
    """One hidden layer, of which units are dropped."""

    p: float = option(0.5, share("a share"))

    def build(self, inputs: tuple[int, ...], outputs: int) -> nn.Module:
        return nn.Sequential(
            nn.Linear(inputs[0], 20), nn.ReLU(), nn.Dropout(self.p), nn.Linear(20, outputs)
        )


@dataclass
class Endless(Data):
    """The sum of three normal numbers, its sign."""

    small: ClassVar = {}

    def shape(self) -> Shape:
        return Shape((3,), 2)

    def build(self, seed: int, device: torch.device, *, progress: bool) -> Dataset:
        def draw(step: int, count: int) -> tuple[Tensor, Tensor]:
            x = torch.randn(count, 3, generator=generator(seed, "stream", step))
            return x.to(device), (x.sum(1) > 0).long().to(device)

        # Steps that no training comes to: samples of their own.
        return Dataset(
            name="endless",
            train=Split.clean(*draw(10**9, 40)),
            test=Split.clean(*draw(10**9 + 1, 40)),
            classes=2,
            input_shape=(3,),
            checksums={},
            stream=draw,
        )
