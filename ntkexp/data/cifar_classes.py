"""Some of the ten classes of CIFAR-10, numbered anew from 0 in the order they are named.

ntkexp train data=cifar_classes data.classes=[2,3,4,5,6,7] model=resnet18
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import torch

from ntkexp.data.base import Data, Shape
from ntkexp.data.cifar10 import Cifar10
from ntkexp.data.dataset import Dataset, Split
from ntkexp.data.images.dataset import chosen_rows
from ntkexp.data.images.first import first_images
from ntkexp.data.images.options import Augment
from ntkexp.data.images.sources import files_here
from ntkexp.options import FOR_ALL, each, option, whole


@dataclass
class CifarClasses(Data):
    """`None` examples means all of these classes."""

    groups: ClassVar = frozenset()
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
        images = first_images("cifar10", {"train": None, "test": None}, device, progress=progress)
        classes = torch.tensor(self.classes, device=device)

        def split(part: Split, purpose: str, key: str) -> Split:
            rows = torch.isin(part.targets, classes).nonzero()[:, 0]
            order = chosen_rows(seed, purpose, len(rows), getattr(self, key), f"data.{key}")
            rows = rows[order.to(device)]
            places = (part.targets[rows, None] == classes).long().argmax(1)
            return Split.clean(part.inputs[rows], places)

        train = split(images.train, "subset", "train_examples")
        test = split(images.test, "test_subset", "test_examples")
        return replace(
            images,
            name=self.name,
            train=train,
            test=test,
            classes=len(self.classes),
            augment=self.augment,
        )
