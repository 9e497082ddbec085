"""Digits of two classes, and the best linear fit of their labels in random features.

With z(x) = relu(W_2 relu(W_1 x)) of a random network and labels s in {-1, +1}, the targets are

    y(x) = z(x)^T b,   b = argmin sum over the training points of (s - z^T b)^2,

or b by SGD (appendix B.1 of LeJeune and Alemohammad, "An Adaptive Tangent Feature Perspective of
Neural Networks"). A least-squares fit does not depend on the scale of W_1 and W_2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from ntkexp.data.dataset import Dataset, Split
from ntkexp.data.fitted_digits import FittedDigits, Pixels, TargetFit, Targets
from ntkexp.data.images.labelled import LabelledImages
from ntkexp.data.images.sources import SPLITS, checksums, read_images, remarks
from ntkexp.data.mnist import Mnist
from ntkexp.data.shared import shared_inputs
from ntkexp.errors import UserError
from ntkexp.seeds import generator

# Of the fit by SGD: the text's rate, schedule and momentum; its authors' code has the others.
EPOCHS, BATCH, RATE, MOMENTUM = 500, 100, 0.1, 0.9


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


def load_digits(
    config: FittedDigits, seed: int, device: torch.device, *, progress: bool
) -> Dataset:
    kind = Mnist.images
    images = {split: read_images(kind, split, progress=progress) for split in SPLITS}
    train, test = fitted(config, seed, images["train"], images["test"])
    files = tuple(file for one in images.values() for file in one.files)
    return Dataset(
        name="fitted_digits",
        train=_split(train, config.targets, device),
        test=_split(test, config.targets, device),
        classes=None,
        input_shape=kind.shape,
        checksums=checksums(files),
        remarks=tuple(note for split, one in images.items() for note in remarks(kind, split, one)),
    )


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
    others, other_signs = chosen(config, test, seed, "test_subset", config.test_examples)
    teacher = RandomFeatures.draw(config, seed)
    features = teacher(inputs)
    if config.fit is TargetFit.least_squares:
        # gelsd: the least of all solutions where there are fewer points than features.
        b = torch.linalg.lstsq(features, signs[:, None], driver="gelsd").solution[:, 0]
    else:
        b = by_sgd(features, signs, seed)
    return (
        Digits(inputs, signs, features @ b),
        Digits(others, other_signs, teacher(others) @ b),
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
    found: Tensor = (flat / norms).view(pixels.shape)
    return found


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
