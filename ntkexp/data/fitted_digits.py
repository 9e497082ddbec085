"""Two digits of MNIST with numbers as targets: the best linear fit of their classes, or its sign.

ntkexp train data=fitted_digits data.targets=sign model=bias_free_mlp

With z(x) = relu(W_2 relu(W_1 x)) of a random network and labels s in {-1, +1}, the targets are

    y(x) = z(x)^T b,   b = argmin sum over the training points of (s - z^T b)^2,

or b by SGD (LeJeune and Alemohammad, "An Adaptive Tangent Feature Perspective of Neural Networks",
Figure 1 and appendix B.1). A least-squares fit does not depend on the scale of W_1 and W_2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

import torch
from torch import Tensor

from ntkexp.data.base import Data, Shape
from ntkexp.data.dataset import Dataset, Split
from ntkexp.data.images.files import LabelledImages, shared_inputs
from ntkexp.data.images.sources import SPLITS, checksums, files_here, read_images, remarks
from ntkexp.data.mnist import Mnist
from ntkexp.errors import UserError
from ntkexp.options import FOR_ALL, count, each, option, whole
from ntkexp.seeds import generator

# The fit by SGD has the rate, schedule and momentum of the text; the authors' code has others.
EPOCHS, BATCH, RATE, MOMENTUM = 500, 100, 0.1, 0.9


class Targets(StrEnum):
    """linear: y = z(x)^T b, the fit itself. sign: sign(y), which is not the class."""

    linear = "linear"
    sign = "sign"


class TargetFit(StrEnum):
    """least_squares: exactly. sgd: 500 epochs of momentum SGD, as the networks are trained."""

    least_squares = "least_squares"
    sgd = "sgd"


class Pixels(StrEnum):
    """unit_norm: an image less its mean, over its norm. unit_variance: 28 times that."""

    unit_norm = "unit_norm"
    unit_variance = "unit_variance"


@dataclass
class FittedDigits(Data):
    """The first digit of the two is -1, the second +1; z are the last hidden units of a random
    network of `depth` x `width` ReLU units without biases, independent of the one trained.

    `test_examples` is the most of them: MNIST has 2,042 for the digits 2 and 3.
    `clean_targets` of the splits are the linear ones, whatever is trained on.
    """

    groups: ClassVar = frozenset()
    small: ClassVar = {"train_examples": 200, "test_examples": 500}
    tiny: ClassVar = {"train_examples": 40, "test_examples": 30, "width": 8}

    digits: list[int] = option(
        [2, 3], each(whole(0, 9, "as a digit"), 2, most=2, once=True), "labelled -1 and +1"
    )
    targets: Targets = option(Targets.linear, about="a linear fit of random features, or its sign")
    fit: TargetFit = option(TargetFit.least_squares, about="least squares, or 500 epochs of SGD")
    pixels: Pixels = option(Pixels.unit_norm, about="images over their norm, or 28 times that")
    depth: int = option(2, count("hidden layers", most=100), "hidden layers of the random network")
    width: int = option(128, count("units", most=100_000), "units a layer of the random network")
    train_examples: int = option(500, count("examples"), "training images")
    test_examples: int | None = option(None, FOR_ALL, "test images")

    def shape(self) -> Shape:
        return Shape(Mnist.images.shape, 1, self.train_examples)

    def files(self) -> Mapping[str, str]:
        return files_here(Mnist.images)

    def build(self, seed: int, device: torch.device, *, progress: bool) -> Dataset:
        kind = Mnist.images
        images = {split: read_images(kind, split, progress=progress) for split in SPLITS}
        train, test = fitted(self, seed, images["train"], images["test"])
        files = tuple(file for split in images.values() for file in split.files)
        return Dataset(
            name="fitted_digits",
            train=_split(train, self.targets, device),
            test=_split(test, self.targets, device),
            classes=None,
            input_shape=kind.shape,
            checksums=checksums(files),
            remarks=tuple(
                note
                for split, split_images in images.items()
                for note in remarks(kind, split, split_images)
            ),
        )


@dataclass(frozen=True)
class Digits:
    """Images and labels of one split, and their linear targets, in float64."""

    inputs: Tensor  # (n, 1, 28, 28)
    signs: Tensor  # (n,): -1 and +1
    linear: Tensor  # (n,): y

    @property
    def accuracy(self) -> float:
        """The share of points on whose class the sign of y is right."""
        return float(((self.linear > 0) == (self.signs > 0)).double().mean())


def fitted(
    config: FittedDigits, seed: int, train: LabelledImages, test: LabelledImages
) -> tuple[Digits, Digits]:
    """Both splits with the targets of one seed; the fit sees the training points alone."""
    inputs, signs = chosen(config, train, seed, "subset", config.train_examples)
    if len(signs) < config.train_examples:
        raise UserError(
            f"data.train_examples={config.train_examples}: there are {len(signs)} images of "
            f"{' and '.join(map(str, config.digits))}"
        )
    test_inputs, test_signs = chosen(config, test, seed, "test_subset", config.test_examples)
    teacher = RandomFeatures.draw(config, seed)
    features = teacher(inputs)
    if config.fit is TargetFit.least_squares:
        # gelsd: the least of all solutions where there are fewer points than features.
        b = torch.linalg.lstsq(features, signs[:, None], driver="gelsd").solution[:, 0]
    else:
        b = by_sgd(features, signs, seed)
    return (
        Digits(inputs, signs, features @ b),
        Digits(test_inputs, test_signs, teacher(test_inputs) @ b),
    )


def chosen(
    config: FittedDigits, images: LabelledImages, seed: int, purpose: str, count: int | None
) -> tuple[Tensor, Tensor]:
    """The first `count` images of the two digits in the seed's order, and their signs."""
    labels = torch.from_numpy(images.labels)
    first, second = config.digits
    rows = ((labels == first) | (labels == second)).nonzero()[:, 0]
    order = torch.randperm(len(rows), generator=generator(seed, purpose))
    rows = rows[order if count is None else order[:count]]
    signs = torch.where(labels[rows] == second, 1.0, -1.0).double()
    return normalised(torch.from_numpy(images.pixels[rows.numpy()]), config.pixels), signs


def normalised(pixels: Tensor, kind: Pixels) -> Tensor:
    """Each image less its own mean, over its norm or its standard deviation, in float64."""
    flat = pixels.double().flatten(1)
    flat = flat - flat.mean(1, keepdim=True)
    norms = flat.norm(dim=1, keepdim=True)
    if kind is Pixels.unit_variance:
        norms = norms / math.sqrt(flat.shape[1])
    scaled: Tensor = (flat / norms).view(pixels.shape)
    return scaled


@dataclass(frozen=True)
class RandomFeatures:
    """The last hidden units of a random ReLU network without biases, weights N(0, 2 / fan_in)."""

    weights: tuple[Tensor, ...]

    @classmethod
    def draw(cls, config: FittedDigits, seed: int) -> RandomFeatures:
        draws, weights = generator(seed, "teacher"), []
        fan_in = math.prod(Mnist.images.shape)
        for _ in range(config.depth):
            drawn = torch.randn(config.width, fan_in, generator=draws, dtype=torch.float64)
            weights.append(drawn * math.sqrt(2 / fan_in))
            fan_in = config.width
        return cls(tuple(weights))

    def __call__(self, inputs: Tensor) -> Tensor:
        hidden = inputs.flatten(1)
        for weight in self.weights:
            hidden = (hidden @ weight.t()).relu()
        return hidden


def by_sgd(features: Tensor, signs: Tensor, seed: int) -> Tensor:
    """b from weights N(0, 2 / width) by SGD on the mean of (s - z^T b)^2, rate falling to 0."""
    draws = generator(seed, "teacher fit")
    width = features.shape[1]
    b = torch.randn(width, generator=draws, dtype=torch.float64) * math.sqrt(2 / width)
    velocity = torch.zeros_like(b)
    count = len(features)
    per_epoch = math.ceil(count / BATCH)
    for epoch in range(EPOCHS):
        order = torch.randperm(count, generator=draws)
        rate = RATE * (1 + math.cos(math.pi * epoch / EPOCHS)) / 2
        for part in range(per_epoch):
            rows = order[part * BATCH : (part + 1) * BATCH]
            z = features[rows]
            velocity = MOMENTUM * velocity + 2 * z.t() @ (z @ b - signs[rows]) / len(rows)
            b = b - rate * velocity
    return b


def _split(digits: Digits, targets: Targets, device: torch.device) -> Split:
    linear = digits.linear.float().to(device)
    nobody = torch.zeros(len(linear), dtype=torch.bool, device=device)
    return Split(
        inputs=shared_inputs(digits.inputs.float().to(device)),
        targets=linear if targets is Targets.linear else linear.sign(),
        clean_targets=linear,
        corrupted=nobody,
        difficult=nobody,
    )
