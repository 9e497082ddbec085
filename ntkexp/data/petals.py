"""A sum of sines along a closed curve with petals (Experiment 5 of "On the Spectral Bias of Neural
Networks").

ntkexp train +exp=spectral/petals
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ntkexp.data.base import Shape
from ntkexp.data.dataset import Dataset
from ntkexp.data.sines import Sines
from ntkexp.options import count, each, option, whole
from ntkexp.theory.float64 import Array
from ntkexp.theory.spectral.manifold import petals


@dataclass
class Petals(Sines):
    """Inputs gamma_L(z) = (1 + sin(2 pi L z) / 2) (cos 2 pi z, sin 2 pi z), targets as in `sines`;
    `petals` is L, and 0 the unit circle."""

    frequencies: list[int] = option(
        [*range(20, 201, 20)], each(count("oscillations"), 1), "of the sines, once around"
    )
    train_examples: int = option(1000, count("points"), "points on the curve")
    petals: int = option(0, whole(0, 10_000, "petals"), "of the curve, 0 is the circle")

    def shape(self) -> Shape:
        return Shape(inputs=(2,), outputs=1, examples=self.train_examples)

    def inputs_at(self, z: Array) -> Tensor:
        return torch.from_numpy(petals(z, self.petals)).float()

    def build(self, seed: int, device: torch.device, *, progress: bool) -> Dataset:
        return self.dataset("petals", seed, device)
