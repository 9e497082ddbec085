"""Sets of images: their options, and the way from images on disk to what a network sees.

An image set is one file, found by its name:

    @dataclass
    class Fashion(Images):                    # ntkexp/data/fashion.py: data=fashion
        images: ClassVar = ImageKind("fashion", (1, 28, 28), torchvision="FashionMNIST")
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from ntkexp.data.base import Data, Shape
from ntkexp.data.dataset import Dataset, Split, redraw_labels
from ntkexp.data.images.files import LabelledImages, Pixels, shared_inputs
from ntkexp.data.images.options import Augment, Difficult, Standardise
from ntkexp.data.images.options import ImageKind as ImageKind
from ntkexp.data.images.sources import checksums, files_here, kind_of, read_images, remarks
from ntkexp.errors import UserError
from ntkexp.options import FOR_ALL, MANY, option, share, whole
from ntkexp.seeds import generator

# The checksums of source files -> the channel moments of the images in them.
_moments: dict[tuple[str, ...], tuple[tuple[float, ...], tuple[float, ...]]] = {}


@dataclass
class Images(Data):
    """Images of several classes; `None` examples means all of them.

    A share `noise` of the training labels is redrawn uniformly, so that one in ten of those is
    right by chance, unless `noise_excludes_true`. The difficult part comes on top of
    `train_examples`; noise does not touch it. The test set is always clean.
    """

    small: ClassVar = {"train_examples": 2000, "test_examples": 1000}
    tiny: ClassVar = {"train_examples": 40, "test_examples": 30, "difficult_examples": 20}
    images: ClassVar[ImageKind]

    train_examples: int | None = option(None, FOR_ALL, "training images")
    test_examples: int | None = option(None, FOR_ALL, "test images")
    noise: float = option(0.0, share("a share"), "the share of training labels that are random")
    noise_excludes_true: bool = option(False, about="a random label is never the right one")
    difficult: Difficult = option(Difficult.none, about="with random labels, or of KMNIST")
    difficult_examples: int = option(0, whole(0, MANY, "examples"), "of those, beside the others")
    augment: Augment = option(Augment.none, about="crop and flip training images at random")
    standardise: Standardise = option(Standardise.published, about="by whose mean and deviation")
    size: int | None = option(
        None, whole(1, 1024, "pixels a side", null="as they are"), "with zeros around up to here"
    )

    @classmethod
    def limits(cls, scale: Mapping[str, Any]) -> Mapping[str, int]:
        """The difficult part is limited to a tenth of the training examples."""
        limits = dict(super().limits(scale))
        if "train_examples" in limits:
            limits["difficult_examples"] = max(1, limits["train_examples"] // 10)
        return limits

    def check(self, config: Any = None) -> None:
        """Refuse options that no images could satisfy, before any are read."""
        difficult, examples = self.difficult, self.difficult_examples
        if difficult is Difficult.none and examples != 0:
            raise UserError(
                f"data.difficult_examples={examples}: data.difficult=none has none; "
                "take data.difficult=random_labels or kmnist"
            )
        if difficult is not Difficult.none and examples < 1:
            raise UserError(
                f"data.difficult_examples={examples}: data.difficult={difficult} needs 1 or more"
            )
        if self.size is not None and self.size < max(self.images.shape[1:]):
            raise UserError(
                f"data.size={self.size}: puts zeros around the images of {self.images.name}, whose "
                f"side is {max(self.images.shape[1:])}; expected that or more"
            )
        if difficult is Difficult.kmnist and self.images.name != "mnist":
            raise UserError(f"data.difficult=kmnist: goes with data=mnist, not {self.images.name}")

    def shape(self) -> Shape:
        examples = (self.train_examples or self.images.examples["train"]) + self.difficult_examples
        channels, *sides = self.images.shape
        return Shape(
            (channels, *(self.size or side for side in sides)), self.images.classes, examples
        )

    def subsets(self) -> frozenset[str]:
        parts = ["easy", "difficult"] if self.difficult is not Difficult.none else []
        random = self.noise > 0 or self.difficult is Difficult.random_labels
        return frozenset(parts + ["noisy", "intact"] * random)

    def files(self) -> Mapping[str, str]:
        checksums = files_here(self.images)
        if checksums and self.difficult is Difficult.kmnist:
            others = files_here(kind_of("kmnist"), ("train",))
            return {**checksums, **others} if others else {}
        return checksums

    def build(self, seed: int, device: torch.device, *, progress: bool) -> Dataset:
        return load_images(self, seed, device, progress=progress)


@dataclass(frozen=True)
class _Part:
    """Some examples of a split, before they move to the device."""

    pixels: Pixels
    targets: Tensor
    clean_targets: Tensor
    corrupted: Tensor
    difficult: bool = False


def load_images(config: Images, seed: int, device: torch.device, *, progress: bool) -> Dataset:
    """Images with the label noise and the difficult part that `config` asks for.

    All are normalised alike, a difficult part of other origin included, by the mean and std that
    `config.standardise` names: the network has one input map. The test split stays clean.
    """
    kind, kmnist = config.images, kind_of("kmnist")
    sources = {kind: read_images(kind, "train", progress=progress)}
    test = read_images(kind, "test", progress=progress)
    if config.difficult is Difficult.kmnist:
        sources[kmnist] = read_images(kmnist, "train", progress=progress)
    train = sources[kind]
    mean, std = moments(kind, train, config.standardise)
    parts = [easy_part(train, config, seed), *difficult_part(sources, config, seed)]
    notes = [
        note for source, images in sources.items() for note in remarks(source, "train", images)
    ]
    files = tuple(file for images in (*sources.values(), test) for file in images.files)
    return Dataset(
        name=kind.name,
        train=_split(parts, mean, std, device, config.size),
        test=_split([held_out_part(test, config, seed)], mean, std, device, config.size),
        classes=kind.classes,
        input_shape=config.shape().inputs,
        checksums=checksums(files),
        remarks=(*notes, *remarks(kind, "test", test)),
        mean=mean,
        std=std,
        augment=config.augment,
    )


def easy_part(train: LabelledImages, config: Images, seed: int) -> _Part:
    """The first `train_examples` rows of the seed's order, with label noise.

    Noise is drawn for every row of the source, so that an image has the same label whichever
    number of examples is asked for.
    """
    reserved = config.difficult_examples if config.difficult is Difficult.random_labels else 0
    count = config.train_examples
    if count is None and reserved:
        count = len(train) - reserved
    if count is not None and (count + reserved > len(train) or count < 1):
        wanted = f"{count:,} + {reserved:,} difficult" if reserved else f"{count:,}"
        raise UserError(
            f"data.train_examples: {wanted} training examples, {config.images.name} "
            f"has {len(train):,}"
        )
    rows = chosen_rows(seed, "subset", len(train), count, "data.train_examples")
    labels = torch.from_numpy(train.labels)
    noisy, redrawn = redraw_labels(
        labels,
        config.noise,
        config.images.classes,
        seed,
        "noise",
        excludes_true=config.noise_excludes_true,
    )
    return _Part(train.pixels[rows.numpy()], noisy[rows], labels[rows], redrawn[rows])


def difficult_part(
    sources: dict[ImageKind, LabelledImages], config: Images, seed: int
) -> list[_Part]:
    """Further images of the dataset with random labels, or KMNIST with its own labels; or no part.

    Label noise does not touch it: `data.difficult` alone says why it is difficult.
    """
    count = config.difficult_examples
    if config.difficult is Difficult.none:
        return []
    if config.difficult is Difficult.kmnist:
        kmnist = sources[kind_of("kmnist")]
        rows = chosen_rows(seed, "kmnist_subset", len(kmnist), count, "data.difficult_examples")
        labels = torch.from_numpy(kmnist.labels)[rows]
        intact = torch.zeros(count, dtype=torch.bool)
        return [_Part(kmnist.pixels[rows.numpy()], labels, labels, intact, difficult=True)]
    train = sources[config.images]
    rows = chosen_rows(seed, "subset", len(train))
    easy = config.train_examples if config.train_examples is not None else len(train) - count
    rows = rows[easy : easy + count]
    labels = torch.from_numpy(train.labels)
    drawn, redrawn = redraw_labels(
        labels,
        1.0,
        config.images.classes,
        seed,
        "difficult",
        excludes_true=config.noise_excludes_true,
    )
    pixels = train.pixels[rows.numpy()]
    return [_Part(pixels, drawn[rows], labels[rows], redrawn[rows], difficult=True)]


def held_out_part(test: LabelledImages, config: Images, seed: int) -> _Part:
    """The first `test_examples` rows of the seed's order of the test split, as they are."""
    rows = chosen_rows(seed, "test_subset", len(test), config.test_examples, "data.test_examples")
    labels = torch.from_numpy(test.labels)[rows]
    intact = torch.zeros(len(rows), dtype=torch.bool)
    return _Part(test.pixels[rows.numpy()], labels, labels, intact)


def chosen_rows(
    seed: int, purpose: str, available: int, count: int | None = None, key: str = ""
) -> Tensor:
    """The first `count` rows, in the order of the seed's stream `purpose`, of those available.

    Fewer examples are thus the first rows of more; None is all of them, in that order.
    """
    if count is not None and count > available:
        raise UserError(f"{key}={count:,}: there are {available:,}")
    order = torch.randperm(available, generator=generator(seed, purpose))
    return order if count is None else order[:count]


def moments(
    kind: ImageKind, train: LabelledImages, standardise: Standardise = Standardise.published
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The mean and std of each channel, by which inputs are standardised.

    Computed once a process: the members of a run all load the same images.
    """
    if standardise is Standardise.none:
        channels = kind.shape[0]
        return (0.0,) * channels, (1.0,) * channels
    if standardise is Standardise.published and kind.mean and kind.std:
        return kind.mean, kind.std
    files = tuple(file.sha256 for file in train.files)
    if files not in _moments:
        mean, std = channel_moments(train.pixels)
        if not all(std):
            paths = ", ".join(str(file.path) for file in train.files)
            raise UserError(f"{paths}: all pixels are alike; expected images that differ")
        _moments[files] = mean, std
    return _moments[files]


def channel_moments(pixels: Pixels) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and standard deviation of each channel in units of 255, from exact integer counts.

    MNIST's training set has .1307 and .3081.
    """
    values = np.arange(256) / 255
    means, stds = [], []
    for channel in range(pixels.shape[1]):
        # torch counts bytes as they are; numpy makes eight of each first.
        bytes_ = torch.from_numpy(np.ascontiguousarray(pixels[:, channel])).flatten()
        counts = torch.bincount(bytes_, minlength=256).numpy()
        mean = float(counts @ values / counts.sum())
        means.append(mean)
        stds.append(float(np.sqrt(counts @ (values - mean) ** 2 / counts.sum())))
    return tuple(means), tuple(stds)


def normalised(
    pixels: Pixels, mean: tuple[float, ...], std: tuple[float, ...], device: torch.device
) -> Tensor:
    """(pixel / 255 - mean) / std per channel, float32; one tensor for members that see the same."""
    # Images that were just decoded lie otherwise than those from the cache, and convolutions round
    # otherwise on them: a run begun on the first must go on alike on the second.
    copied = torch.from_numpy(np.ascontiguousarray(pixels))
    inputs = copied.to(device).float()  # moved as bytes, a quarter of the traffic
    inputs.div_(255)
    inputs.sub_(torch.tensor(mean, device=device).view(-1, 1, 1))
    inputs.div_(torch.tensor(std, device=device).view(-1, 1, 1))
    return shared_inputs(inputs)


def framed(pixels: Pixels, size: int | None) -> Pixels:
    """Images (n, c, h, w) in the middle of black ones of this side."""
    if size is None:
        return pixels
    around = [((size - side) // 2, (size - side + 1) // 2) for side in pixels.shape[2:]]
    return np.pad(pixels, [(0, 0), (0, 0), *around])


def _split(
    parts: list[_Part],
    mean: tuple[float, ...],
    std: tuple[float, ...],
    device: torch.device,
    size: int | None,
) -> Split:
    pixels = framed(np.concatenate([p.pixels for p in parts]), size)
    inputs = normalised(pixels, mean, std, device)
    difficult = [torch.full((len(part.targets),), part.difficult) for part in parts]
    return Split(
        inputs=inputs,
        targets=torch.cat([part.targets for part in parts]).to(device),
        clean_targets=torch.cat([part.clean_targets for part in parts]).to(device),
        corrupted=torch.cat([part.corrupted for part in parts]).to(device),
        difficult=torch.cat(difficult).to(device),
    )
