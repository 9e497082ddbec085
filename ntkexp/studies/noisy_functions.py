"""Mutual information of uniform numbers and functions of them with noise (Figure 5.2 of "Mutual
Information Neural Estimation").

ntkexp study +exp=information/equitability
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from ntkexp.information.mine import Pairs
from ntkexp.options import count, one_of, option, positive
from ntkexp.studies.statistics_network import Estimation
from ntkexp.theory.information.noisy_functions import FUNCTIONS, information


@dataclass
class NoisyFunctions(Estimation):
    """x ~ U(-1, 1) and z = f(x) + sigma e, coordinate by coordinate: the truth, by quadrature, is
    in ntkexp/theory/information/noisy_functions.py."""

    dimension: int = option(2, count("coordinates", most=10_000), "coordinates of x and of z")
    function: str = option("identity", one_of(*FUNCTIONS), "f: identity, cube or sine")
    sigma: float = option(0.1, positive(), "standard deviation of the noise")

    def draw(self, n: int, stream: torch.Generator) -> Pairs:
        x = 2 * torch.rand(n, self.dimension, generator=stream) - 1
        noise = torch.randn(n, self.dimension, generator=stream)
        exact = torch.from_numpy(FUNCTIONS[self.function](x.double().numpy())).float()
        return x, exact + self.sigma * noise

    def truth(self) -> float:
        return self.dimension * information(self.function, self.sigma)
