"""A network of one hidden layer of tanh units."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ntkexp.models import Model
from ntkexp.options import count, option


@dataclass
class TanhNet(Model):
    small: ClassVar = {"units": 16}

    units: int = option(64, count("units"), "units of the hidden layer")

    def build(self, inputs: tuple[int, ...], outputs: int) -> Any:
        from torch import nn

        return nn.Sequential(
            nn.Linear(*inputs, self.units), nn.Tanh(), nn.Linear(self.units, outputs)
        )
