"""CIFAR-10 in two classes: its first five kinds are 1, the others 0.

ntkexp train +exp=linearised/cifar2_mlp

The two-class task of Ortiz-Jimenez et al. 2021, section 4.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ntkexp.data.base import Data, Shape
from ntkexp.data.cifar10 import Cifar10
from ntkexp.data.dataset import Dataset, Split
from ntkexp.data.images.dataset import chosen_rows
from ntkexp.data.images.files import Labels
from ntkexp.data.images.first import first_images
from ntkexp.data.images.options import SplitName, Standardise
from ntkexp.data.images.sources import files_here
from ntkexp.errors import UserError
from ntkexp.options import FOR_ALL, option

HALF = 5


@dataclass
class Cifar2(Data):
    """A smaller training set has equally many images of each of the ten kinds, up to one, and is
    part of the larger ones of its seed."""

    groups: ClassVar = frozenset()
    small: ClassVar = {"train_examples": 2000, "test_examples": 1000}
    tiny: ClassVar = {"train_examples": 40, "test_examples": 30}

    train_examples: int | None = option(None, FOR_ALL, "training images")
    test_examples: int | None = option(None, FOR_ALL, "test images")
    standardise: Standardise = option(Standardise.published, about="by whose mean and deviation")

    def shape(self) -> Shape:
        return Shape(Cifar10.images.shape, 1, self.train_examples or 50_000)

    def files(self) -> Mapping[str, str]:
        return files_here(Cifar10.images)

    def build(self, seed: int, device: torch.device, *, progress: bool) -> Dataset:
        counts: dict[SplitName, int | None] = {"train": None, "test": None}
        images = first_images("cifar10", counts, device, self.standardise, progress=progress)

        def split(part: Split, purpose: str, key: str) -> Split:
            wanted = getattr(self, key)
            if (wanted or 0) > len(part):
                raise UserError(f"data.{key}={wanted:,}: there are {len(part):,}")
            order = chosen_rows(seed, purpose, len(part)).numpy()
            rows = torch.from_numpy(in_turns(part.targets.cpu().numpy(), order)[:wanted]).to(device)
            return Split.clean(part.inputs[rows], (part.targets[rows] < HALF).long())

        train = split(images.train, "subset", "train_examples")
        test = split(images.test, "test_subset", "test_examples")
        return replace(images, name=self.name, train=train, test=test, classes=2)


def in_turns(labels: Labels, order: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows of `order`, one of every class in turn; within a class their order stays.

    >>> in_turns(np.array([0, 0, 0, 1, 1, 1]), np.array([2, 1, 0, 3, 5, 4])).tolist()
    [2, 3, 1, 5, 0, 4]
    """
    turns, latest = np.empty(len(order), dtype=np.int64), dict[int, int]()
    for place, label in enumerate(labels[order].tolist()):
        turns[place] = latest[label] = latest.get(label, -1) + 1
    return order[np.lexsort((np.arange(len(order)), turns))]
