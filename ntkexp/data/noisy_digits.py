"""The digits 3 and 8 as 0 and 1, with noise of some frequency on the targets (Experiments 3 and 4
of "On the Spectral Bias of Neural Networks").

ntkexp train +exp=spectral/waves
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import ClassVar

import numpy as np
import torch

from ntkexp.data.base import Data, Shape
from ntkexp.data.dataset import Dataset, Split
from ntkexp.data.images.dataset import chosen_rows, normalised
from ntkexp.data.images.sources import files_here, read_images, remarks
from ntkexp.data.mnist import Mnist
from ntkexp.options import count, not_negative, option, positive
from ntkexp.theory.float64 import Array, array
from ntkexp.theory.spectral.kernel_basis import basis, eigenvectors

DIGITS = (3, 8)
GAMMA = 2


class Noise(StrEnum):
    """radial: sin(k |x|). centred: that less its mean over the training images. axis: sin(k u.x),
    with x less their mean and u their first principal axis. kernel: sum over n of (n / N)^2 v_n for
    the eigenvectors v_n of a Gaussian kernel on them."""

    radial = "radial"
    centred = "centred"
    axis = "axis"
    kernel = "kernel"


@dataclass
class NoisyDigits(Data):
    """Training targets are 0 or 1 plus `amplitude` times the noise; pixels are in [0, 1].

    Test targets are 0 and 1, on further images of the training file; with kernel noise, which has
    no value elsewhere, on the training images themselves.
    """

    groups: ClassVar = frozenset()
    small: ClassVar = {"train_examples": 200, "test_examples": 500}
    tiny: ClassVar = {"train_examples": 40, "test_examples": 20}

    noise: Noise = option(Noise.radial, about="a wave of the images' norm, a control, or kernel's")
    frequency: float = option(0.5, not_negative(1e6), "k of a wave, radians a unit of length")
    amplitude: float = option(1.0, not_negative(1e6), "of the noise; 0 has none")
    width: float = option(1.0, positive(1e6), "of the kernel, over the median distance of images")
    train_examples: int = option(500, count("examples"), "training images")
    test_examples: int = option(1000, count("examples"), "training images to test on")

    def shape(self) -> Shape:
        return Shape(Mnist.images.shape, 1, self.train_examples)

    def files(self) -> Mapping[str, str]:
        return files_here(Mnist.images, ("train",))

    def psi(self, x: Array) -> Array:
        """The noise at the training images, (n, pixels)."""
        if self.noise is Noise.kernel:
            return array(basis(x, self.width) @ (np.arange(1, len(x) + 1) / len(x)) ** GAMMA)
        if self.noise is Noise.axis:
            centred = x - x.mean(0)
            axis = eigenvectors(centred.T @ centred)[1][:, 0]
            return array(np.sin(self.frequency * centred @ axis))
        wave = np.sin(self.frequency * np.linalg.norm(x, axis=1))
        return array(wave - wave.mean() if self.noise is Noise.centred else wave)

    def build(self, seed: int, device: torch.device, *, progress: bool) -> Dataset:
        kind, train = Mnist.images, self.train_examples
        images = read_images(kind, "train", progress=progress)
        digits = np.flatnonzero(np.isin(images.labels, DIGITS))
        wanted = ("data.train_examples + data.test_examples", train + self.test_examples)
        rows = digits[chosen_rows(seed, "subset", len(digits), wanted[1], wanted[0]).numpy()]
        classes = torch.from_numpy(images.labels[rows] == DIGITS[1]).float().to(device)
        inputs, others = (
            normalised(images.pixels[part], (0.0,), (1.0,), device)
            for part in (rows[:train], rows[train:])
        )
        psi = torch.from_numpy(self.psi(inputs.flatten(1).double().cpu().numpy()))
        clean = Split.clean(inputs, classes[:train])
        noisy = clean.targets + self.amplitude * psi.float().to(device)
        on_others = Split.clean(others, classes[train:])
        return Dataset(
            name="noisy_digits",
            train=replace(clean, targets=noisy),
            test=clean if self.noise is Noise.kernel else on_others,
            classes=None,
            input_shape=kind.shape,
            checksums=dict(self.files()),
            remarks=tuple(remarks(kind, "train", images)),
        )
