"""Two classes along a closed curve with petals (Experiment 6 of "On the Spectral Bias of Neural
Networks").

ntkexp train +exp=spectral/classes
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from ntkexp.data.base import Data, Shape
from ntkexp.data.dataset import Dataset, Split
from ntkexp.data.images.files import shared_inputs
from ntkexp.options import count, not_negative, option, whole
from ntkexp.seeds import generator
from ntkexp.theory.float64 import Array
from ntkexp.theory.spectral.dft import grid
from ntkexp.theory.spectral.manifold import petals


@dataclass
class PetalClasses(Data):
    """Class 1 where sin(2 pi k z + phi) > 1/2, else 0, at gamma_L(z); `frequency` is k, `petals` L.

    A third of the points are of class 1 at any phase, since the number of points is prime: with
    1,000 the frequencies 200 and 400 would meet 5 phases alone. Test points lie halfway between.
    """

    groups: ClassVar = frozenset()
    tiny: ClassVar = {"train_examples": 41}

    frequency: int = option(100, count("oscillations"), "of the signal, once around")
    petals: int = option(0, whole(0, 10_000, "petals"), "of the curve, 0 is the circle")
    train_examples: int = option(1009, count("points"), "points on the curve")
    phase: float | None = option(None, not_negative(7), "of the signal, null draws it by the seed")

    def shape(self) -> Shape:
        return Shape(inputs=(2,), outputs=1, examples=self.train_examples)

    def classes_at(self, z: Array, seed: int) -> np.ndarray:
        """0 or 1 at each z."""
        draw = torch.rand(1, generator=generator(seed, "phases"), dtype=torch.float64)
        phase = 2 * math.pi * float(draw) if self.phase is None else self.phase
        classes: np.ndarray = np.sin(2 * np.pi * self.frequency * z + phase) > 0.5
        return classes.astype(np.int64)

    def build(self, seed: int, device: torch.device, *, progress: bool) -> Dataset:
        z = grid(self.train_examples)
        return Dataset(
            name="petal_classes",
            train=self._split(z, seed, device),
            test=self._split(z + 0.5 / self.train_examples, seed, device),
            classes=2,
            input_shape=(2,),
            checksums={},
        )

    def _split(self, z: Array, seed: int, device: torch.device) -> Split:
        inputs = torch.from_numpy(petals(z, self.petals)).float().to(device)
        return Split.clean(
            shared_inputs(inputs), torch.from_numpy(self.classes_at(z, seed)).to(device)
        )
