"""Some of the ten classes of CIFAR-10, numbered anew from 0 in the order they are named.

ntkexp train data=cifar_classes data.classes=[2,3,4,5,6,7] model=resnet18
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from ntkexp.data.base import Data, Shape
from ntkexp.data.cifar10 import Cifar10
from ntkexp.data.dataset import Dataset, Split
from ntkexp.data.images.dataset import chosen_rows, normalised
from ntkexp.data.images.files import LabelledImages
from ntkexp.data.images.options import Augment
from ntkexp.data.images.sources import checksums, files_here, read_images, remarks
from ntkexp.options import FOR_ALL, each, option, whole


@dataclass
class CifarClasses(Data):
    """`None` examples means all of these classes."""

    small: ClassVar = {"train_examples": 2000, "test_examples": 1000}
    tiny: ClassVar = {"train_examples": 40, "test_examples": 30}

    classes: list[int] = option(
        [1, 2, 3, 4, 5, 6, 7, 9],
        each(whole(0, 9, "as a class of CIFAR-10"), 2, once=True),
        "classes of CIFAR-10, numbered anew in this order",
    )
    train_examples: int | None = option(None, FOR_ALL, "training images")
    test_examples: int | None = option(None, FOR_ALL, "test images")
    augment: Augment = option(Augment.none, about="crop and flip training images at random")

    def shape(self) -> Shape:
        outputs = 1 if len(self.classes) == 2 else len(self.classes)
        return Shape(Cifar10.images.shape, outputs, self.train_examples)

    def files(self) -> Mapping[str, str]:
        return files_here(Cifar10.images)

    def build(self, seed: int, device: torch.device, *, progress: bool) -> Dataset:
        """Normalised as all of CIFAR-10 is, whichever classes are asked for."""
        kind = Cifar10.images
        assert kind.mean is not None and kind.std is not None
        train = read_images(kind, "train", progress=progress)
        test = read_images(kind, "test", progress=progress)
        moments = kind.mean, kind.std
        return Dataset(
            name=self.name,
            train=_split(self, train, "subset", "train_examples", seed, moments, device),
            test=_split(self, test, "test_subset", "test_examples", seed, moments, device),
            classes=len(self.classes),
            input_shape=kind.shape,
            checksums=checksums((*train.files, *test.files)),
            remarks=(*remarks(kind, "train", train), *remarks(kind, "test", test)),
            mean=kind.mean,
            std=kind.std,
            augment=self.augment,
        )


def _split(
    config: CifarClasses,
    images: LabelledImages,
    purpose: str,
    key: str,
    seed: int,
    moments: tuple[tuple[float, ...], tuple[float, ...]],
    device: torch.device,
) -> Split:
    rows = np.flatnonzero(np.isin(images.labels, config.classes))
    wanted = getattr(config, key)
    rows = rows[chosen_rows(seed, purpose, len(rows), wanted, f"data.{key}").numpy()]
    number = {label: place for place, label in enumerate(config.classes)}
    targets = torch.tensor([number[int(label)] for label in images.labels[rows]])
    return Split.clean(normalised(images.pixels[rows], *moments, device), targets.to(device))
