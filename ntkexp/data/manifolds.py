"""Random numbers as targets on curved and on flat sets of points (Experiment 8 of "On the Spectral
Bias of Neural Networks").

ntkexp train +exp=spectral/manifolds
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from scipy.spatial.distance import pdist
from torch import Tensor, nn
from torch.nn import functional

from ntkexp.data.base import Data, Shape
from ntkexp.data.dataset import Dataset, Split
from ntkexp.data.images.dataset import chosen_rows
from ntkexp.data.images.files import LabelledImages, Pixels, shared_inputs
from ntkexp.data.images.sources import files_here, read_images, remarks
from ntkexp.data.mnist import Mnist
from ntkexp.options import count, option
from ntkexp.seeds import generator
from ntkexp.theory.float64 import Array
from ntkexp.theory.spectral.kernel_basis import eigenvectors

PIXELS, HIDDEN, CODE = 784, 512, 64
DROPPED, BATCH, RATE = 0.2, 200, 0.001
# Learned from all images once a process; a key is a name and the checksums of the files.
_learned: dict[tuple[str, ...], Any] = {}


class Points(StrEnum):
    """reconstructions: of digits by an autoencoder. noise: 64 uniform numbers and 720 zeros.
    scaled_reconstructions, scaled_noise: times a factor, so that the mean distance of two is that
    of the other. components: digits in the span of 64 principal components."""

    reconstructions = "reconstructions"
    noise = "noise"
    scaled_reconstructions = "scaled_reconstructions"
    scaled_noise = "scaled_noise"
    components = "components"


@dataclass
class Manifolds(Data):
    """Points in 784 dimensions with targets of U(0, 1); the test set is the training set.

    The denoising autoencoder 784-512-64-512-784 is one for all seeds: ReLU units, a linear code,
    sigmoid outputs; trained by Adam on all training digits, of whose pixels a fifth is set to 0.
    """

    groups: ClassVar = frozenset()
    small: ClassVar = {"train_examples": 200, "epochs": 1}
    tiny: ClassVar = {"train_examples": 40, "epochs": 1}

    points: Points = option(Points.reconstructions, about="what the network sees")
    train_examples: int = option(500, count("examples"), "points")
    epochs: int = option(10, count("epochs"), "of the autoencoder's training")

    def shape(self) -> Shape:
        return Shape((PIXELS,), 1, self.train_examples)

    def files(self) -> Mapping[str, str]:
        return files_here(Mnist.images, ("train",))

    def build(self, seed: int, device: torch.device, *, progress: bool) -> Dataset:
        images = read_images(Mnist.images, "train", progress=progress)
        inputs = torch.from_numpy(self.inputs(images, seed)).float().to(device)
        targets = torch.rand(self.train_examples, generator=generator(seed, "targets")).to(device)
        split = Split.clean(shared_inputs(inputs), targets)
        return Dataset(
            name="manifolds",
            train=split,
            test=split,
            classes=None,
            input_shape=(PIXELS,),
            checksums=dict(self.files()),
            remarks=tuple(remarks(Mnist.images, "train", images)),
        )

    def inputs(self, images: LabelledImages, seed: int) -> Array:
        """The points that `points` names, (n, 784)."""
        size = self.train_examples
        rows = chosen_rows(seed, "subset", len(images), size, "data.train_examples").numpy()
        digits = flat(images.pixels[rows])
        if self.points is Points.components:
            mean, axes = once(images, "components", principal)
            x: Array = mean + (digits.double().numpy() - mean) @ axes @ axes.T
            return x
        noise = np.zeros((size, PIXELS))
        noise[:, :CODE] = torch.rand(size, CODE, generator=generator(seed, "points")).numpy()
        autoencoder = once(images, f"{self.epochs} epochs", partial(trained, epochs=self.epochs))
        with torch.no_grad():
            curved = autoencoder(digits).double().numpy()
        factor = pdist(noise).mean() / pdist(curved).mean()
        chosen: Array = {
            Points.reconstructions: curved,
            Points.noise: noise,
            Points.scaled_reconstructions: curved * factor,
            Points.scaled_noise: noise / factor,
        }[self.points]
        return chosen


def flat(pixels: Pixels) -> Tensor:
    """The images as rows (n, 784), with pixels in [0, 1]."""
    return torch.from_numpy(np.ascontiguousarray(pixels)).flatten(1).float() / 255


def once(images: LabelledImages, name: str, learn: Callable[[Pixels], Any]) -> Any:
    key = (name, *(file.sha256 for file in images.files))
    if key not in _learned:
        _learned[key] = learn(images.pixels)
    return _learned[key]


def principal(pixels: Pixels) -> tuple[Array, Array]:
    """The mean of all images, (784,), and their first principal components, (784, 64)."""
    rows = flat(pixels)
    mean = rows.mean(0)
    rows -= mean
    axes = eigenvectors((rows.T @ rows).double().numpy())[1][:, :CODE]
    return mean.double().numpy(), axes


def trained(pixels: Pixels, epochs: int) -> nn.Module:
    """The autoencoder, in eval mode; its draws leave those of the run alone."""
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        torch.manual_seed(0)
        network = nn.Sequential(
            *(nn.Dropout(DROPPED), nn.Linear(PIXELS, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, CODE)),
            *(nn.Linear(CODE, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, PIXELS), nn.Sigmoid()),
        )
        adam = torch.optim.Adam(network.parameters(), lr=RATE)
        for _ in range(epochs):
            for rows in torch.randperm(len(pixels)).split(BATCH):  # type: ignore[no-untyped-call]
                digits = flat(pixels[rows.numpy()])
                adam.zero_grad()
                loss = functional.mse_loss(network(digits), digits)
                loss.backward()  # type: ignore[no-untyped-call]
                adam.step()
    return network.eval()
