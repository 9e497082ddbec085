"""A sum of sines on the line (Experiments 1 and 2 of "On the Spectral Bias of Neural Networks").

ntkexp train data=sines data.frequencies=[5,10,15] objective=squared_error optim=adam optim.steps=9
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from ntkexp.data.base import Data, Shape
from ntkexp.data.dataset import Dataset, Split
from ntkexp.data.images.files import shared_inputs
from ntkexp.options import count, each, option
from ntkexp.seeds import generator
from ntkexp.theory.float64 import Array
from ntkexp.theory.spectral.dft import grid, sines


class Amplitudes(StrEnum):
    """equal: A_i = 1. increasing: A_i = i / n for n frequencies."""

    equal = "equal"
    increasing = "increasing"


@dataclass
class Sines(Data):
    """lambda(z) = sum_i A_i sin(2 pi k_i z + phi_i) at z = j / N, with phases of the seed.

    The test points lie halfway between those trained on.
    """

    groups: ClassVar = frozenset()
    tiny: ClassVar = {"train_examples": 40}

    frequencies: list[int] = option(
        [*range(5, 51, 5)], each(count("oscillations"), 1), "whole oscillations on the line, k_i"
    )
    amplitudes: Amplitudes = option(
        Amplitudes.equal, about="sines of equal size, or growing with their frequency"
    )
    train_examples: int = option(200, count("points"), "training points, N")

    def shape(self) -> Shape:
        return Shape(inputs=(1,), outputs=1, examples=self.train_examples)

    def signal(self, z: Array, seed: int) -> Array:
        """The target at z."""
        count = len(self.frequencies)
        phases = torch.rand(count, generator=generator(seed, "phases"), dtype=torch.float64)
        equal = self.amplitudes is Amplitudes.equal
        sizes = np.ones(count) if equal else np.arange(1, count + 1) / count
        return sines(z, self.frequencies, sizes, 2 * math.pi * phases.numpy())

    def inputs_at(self, z: Array) -> Tensor:
        """The inputs of the network at the points z."""
        return torch.from_numpy(z[:, None]).float()

    def build(self, seed: int, device: torch.device, *, progress: bool) -> Dataset:
        return self.dataset("sines", seed, device)

    def dataset(self, name: str, seed: int, device: torch.device) -> Dataset:
        z = grid(self.train_examples)
        return Dataset(
            name=name,
            train=self._split(z, seed, device),
            test=self._split(z + 0.5 / self.train_examples, seed, device),
            classes=None,
            input_shape=self.shape().inputs,
            checksums={},
        )

    def _split(self, z: Array, seed: int, device: torch.device) -> Split:
        inputs = shared_inputs(self.inputs_at(z).to(device))
        targets = torch.from_numpy(self.signal(z, seed)).float().to(device)
        return Split.clean(inputs, targets)
