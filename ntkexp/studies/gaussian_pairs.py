"""Mutual information of normal vectors whose coordinates are correlated one by one (Figure 5.1 of
"Mutual Information Neural Estimation").

ntkexp study +exp=information/gaussians
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import torch
from torch import Tensor

from ntkexp.information.mine import Pairs
from ntkexp.options import Rule, count, option
from ntkexp.studies.statistics_network import Estimation
from ntkexp.theory.information.gaussian import information


class Margins(StrEnum):
    """What every coordinate is sent through, which leaves the information as it is: nothing, t^3,
    asinh t, or the distribution function, which makes it uniform."""

    normal = "normal"
    cubed = "cubed"
    asinh = "asinh"
    uniform = "uniform"


MAPS: Mapping[Margins, Callable[[Tensor], Tensor]] = {
    Margins.normal: lambda t: t,
    Margins.cubed: lambda t: t**3,
    Margins.asinh: torch.asinh,
    Margins.uniform: torch.special.ndtr,
}


@dataclass
class GaussianPairs(Estimation):
    """x ~ N(0, Id) and z = rho x + sqrt(1 - rho^2) e: ntkexp/theory/information/gaussian.py."""

    dimension: int = option(1, count("coordinates", most=10_000), "coordinates of x and of z")
    rho: float = option(
        0.5, Rule(lambda rho: -1 < rho < 1, "a correlation between -1 and 1"), "correlation"
    )
    margins: Margins = option(Margins.normal, about="normal, cubed, asinh or uniform")

    def draw(self, n: int, stream: torch.Generator) -> Pairs:
        x, noise = torch.randn(2, n, self.dimension, generator=stream)
        z = self.rho * x + (1 - self.rho**2) ** 0.5 * noise
        return MAPS[self.margins](x), MAPS[self.margins](z)

    def truth(self) -> float:
        return information(self.rho, self.dimension)
