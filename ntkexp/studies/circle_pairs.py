"""How soon a statistics network finds an information that is the same at every frequency: ours,
after "On the Spectral Bias of Neural Networks".

ntkexp study +exp=information/circle

The gradient of the bound at the start, where T is nearly constant, is what tells pairs from x and z
apart: its square is the distance of the two distributions by the tangent kernel (an MMD^2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector

from ntkexp.information.bounds import donsker_varadhan
from ntkexp.information.mine import Pairs, together_and_apart
from ntkexp.options import count, option, positive
from ntkexp.results.table import STEP, Table, float64
from ntkexp.studies.statistics_network import ESTIMATES, LOOKS, Estimation, Estimator
from ntkexp.theory.information.circle import information
from ntkexp.transforms.linearise import Linearised

if TYPE_CHECKING:
    from ntkexp.training.place import Place

START = Table(
    "information_start",
    "the bound's gradient before the first update",
    {
        "step": STEP,
        "square": float64("of its norm, by the inner product of two halves of the training pairs"),
    },
)


@dataclass
class CirclePairs(Estimation):
    """x is uniform on [0, 1], z = k x + sigma e mod 1; the network gets 2x - 1, cos 2 pi z and
    sin 2 pi z."""

    tables: ClassVar[tuple[Table, ...]] = (LOOKS, ESTIMATES, START)

    frequency: int = option(1, count("turns", most=10_000), "turns of z while x goes from 0 to 1")
    sigma: float = option(0.05, positive(), "standard deviation of the noise")
    given: bool = option(False, about="the network gets cos 2 pi k x and sin 2 pi k x, too")
    linearised: bool = option(False, about="the network is the linearised one (ntkexp/transforms)")

    def draw(self, n: int, stream: torch.Generator) -> Pairs:
        x = torch.rand(n, 1, generator=stream)
        noise = torch.randn(n, 1, generator=stream)
        waves = round_and_round(self.frequency * x) if self.given else ()
        z = self.frequency * x + self.sigma * noise
        return torch.cat([2 * x - 1, *waves], 1), torch.cat(round_and_round(z), 1)

    def truth(self) -> float:
        return information(self.sigma)

    def module(self, inputs: int) -> nn.Module:
        network = super().module(inputs)
        return Linearised(network) if self.linearised else network

    def work(self, place: Place) -> CircleEstimator:
        return CircleEstimator(self, place)


def round_and_round(t: Tensor) -> tuple[Tensor, Tensor]:
    return (2 * math.pi * t).cos(), (2 * math.pi * t).sin()


class CircleEstimator(Estimator):
    def look(self) -> None:
        super().look()
        if self.step == 0 and self.train is not None:
            self.write(START.name, {"step": 0, "square": self.square_of_gradient(self.train)})

    def square_of_gradient(self, pairs: Pairs) -> float:
        """Without bias: the noise of the halves is independent."""
        halves = zip(*(part.chunk(2) for part in pairs), strict=True)
        first, second = (self.gradient(x, z) for x, z in halves)
        return (first.double() @ second.double()).item()

    @torch.enable_grad()
    def gradient(self, x: Tensor, z: Tensor) -> Tensor:
        network = self.networks["statistics"]
        joint, apart = network(together_and_apart(x, z))[:, 0].chunk(2)
        weights = [*network.parameters()]
        return parameters_to_vector(torch.autograd.grad(donsker_varadhan(joint, apart), weights))
