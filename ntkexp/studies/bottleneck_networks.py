"""The ways of a bottleneck, and its networks (Tables 5.3 and C.12 of "Mutual Information Neural
Estimation")."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import torch
from torch import Tensor, nn
from torch.nn.functional import elu

UNITS, CODE = 1024, 256


class Variant(StrEnum):
    """baseline: z is a function of x. dropout, confidence, smoothing, noise: regularised by half of
    the units, a penalty of .3 times the entropy, labels of .9, or noise on x. dvb, dvb_noise:
    Gaussian z, the latter with noise on x, too. mine_gaussian, mine_additive, mine_propagated:
    Gaussian z, noise on x, 256 random numbers beside x; with a statistics network."""

    baseline = "baseline"
    dropout = "dropout"
    confidence = "confidence"
    smoothing = "smoothing"
    noise = "noise"
    dvb = "dvb"
    dvb_noise = "dvb_noise"
    mine_gaussian = "mine_gaussian"
    mine_additive = "mine_additive"
    mine_propagated = "mine_propagated"

    @property
    def gaussian(self) -> bool:
        return self in (Variant.dvb, Variant.dvb_noise, Variant.mine_gaussian)

    @property
    def noisy(self) -> bool:
        """True if there is noise on the image in training."""
        return self in (Variant.noise, Variant.dvb_noise, Variant.mine_additive)

    @property
    def random(self) -> bool:
        """True if z is random when classes are predicted."""
        return self.gaussian or self in (Variant.mine_additive, Variant.mine_propagated)

    @property
    def measured(self) -> bool:
        return self.value.startswith("mine_")


class Encoder(nn.Module):
    """Two hidden ReLU layers; of a Gaussian code the last layer gives mean and rho, and sigma =
    softplus(rho - 5)."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(inputs, UNITS), nn.Linear(UNITS, UNITS)
        self.last = nn.Linear(UNITS, outputs)

    def forward(self, x: Tensor, masks: Tensor | None = None) -> Tensor:
        first, second = (1.0, 1.0) if masks is None else masks
        hidden = self.first(x).relu() * first
        outputs: Tensor = self.last(self.second(hidden).relu() * second)
        return outputs


class Statistics(nn.Module):
    """Table C.12: two layers of 512 ELUs, and in training noise before each layer."""

    WIDTH, INPUT_NOISE, NOISE = 512, 0.3, 0.5

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(inputs, self.WIDTH), nn.Linear(self.WIDTH, self.WIDTH)
        self.last = nn.Linear(self.WIDTH, 1)

    def forward(self, pairs: Tensor, noise: Sequence[Tensor] = ()) -> Tensor:
        at_input, *within = noise or (torch.zeros(()),) * 3
        hidden = elu(self.first(pairs + self.INPUT_NOISE * at_input)) + self.NOISE * within[0]
        outputs: Tensor = self.last(elu(self.second(hidden)) + self.NOISE * within[1])
        return outputs[:, 0]
