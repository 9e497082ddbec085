"""The words for sets of images: their kinds, their splits, and the choices of their options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

SplitName = Literal["train", "test"]


class Difficult(StrEnum):
    """The examples that make the difficult part of a training set."""

    none = "none"
    random_labels = "random_labels"
    kmnist = "kmnist"


class Augment(StrEnum):
    none = "none"
    crop_flip = "crop_flip"


class Standardise(StrEnum):
    """What is taken from each channel and what divides it, always of the whole training set.

    published: the constants that are passed on with a set, where there are some, else its own; own:
    its mean and standard deviation; none: 0 and 1, so pixels stay in [0, 1].
    """

    published = "published"
    own = "own"
    none = "none"


@dataclass(frozen=True)
class ImageKind:
    """The shape and the official number of a set's images, and where they come from.

    `mean` and `std` are those of the channels with pixels in [0, 1]; None is for those of the
    training split as it was read. `torchvision` is the class of torchvision.datasets that fetches
    the set, None where there is none. It keeps idx files, as for MNIST and KMNIST; `pickled` is for
    the pickles of CIFAR-10, which no other set has.
    """

    name: str
    shape: tuple[int, int, int]
    classes: int = 10
    examples: Mapping[SplitName, int] = field(
        default_factory=lambda: {"train": 60_000, "test": 10_000}, hash=False
    )
    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None
    torchvision: str | None = None
    pickled: bool = False
