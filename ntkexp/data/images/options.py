"""What sets of images have in common: their options, and what one set says of itself.

An image set is one file, found by its name:

    @dataclass
    class Fashion(Images):                    # ntkexp/data/fashion.py: data=fashion
        images: ClassVar = ImageKind("fashion", (1, 28, 28), torchvision="FashionMNIST")
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from ntkexp.data.base import Data, Shape
from ntkexp.errors import UserError
from ntkexp.options import MANY, count, option, share, whole

if TYPE_CHECKING:
    import torch

    from ntkexp.data.dataset import Dataset

SplitName = Literal["train", "test"]


class Difficult(StrEnum):
    """What the difficult part of a training set is made of."""

    none = "none"
    random_labels = "random_labels"
    kmnist = "kmnist"


class Augment(StrEnum):
    none = "none"
    crop_flip = "crop_flip"


@dataclass(frozen=True)
class ImageKind:
    """What every image of a set has in common, and how many there are officially.

    `mean` and `std` are those of the channels with pixels in [0, 1]; None is for those of the
    training split as it was read. `torchvision` is the class of torchvision.datasets that fetches
    the set, None where there is none; `pickled` says that it keeps pickles, as for CIFAR-10, and
    not idx files, as for MNIST and KMNIST.
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


@dataclass
class Images(Data):
    """Images of several classes; `None` examples means all of them.

    A share `noise` of the training labels is redrawn uniformly, so that one in ten of those is
    right by chance, unless `noise_excludes_true`. The difficult part comes on top of
    `train_examples`; noise does not touch it. The test set is always clean.
    """

    small: ClassVar = {"train_examples": 2000, "test_examples": 1000}
    images: ClassVar[ImageKind]

    train_examples: int | None = option(None, count("examples", null="for all"))
    test_examples: int | None = option(None, count("examples", null="for all"))
    noise: float = option(0.0, share("a share"))
    noise_excludes_true: bool = False
    difficult: Difficult = Difficult.none
    difficult_examples: int = option(0, whole(0, MANY, "examples"))
    augment: Augment = Augment.none

    @classmethod
    def limits(cls, scale: Mapping[str, Any]) -> Mapping[str, int]:
        """The difficult part is limited to a tenth of the training examples."""
        found = dict(super().limits(scale))
        if "train_examples" in found:
            found["difficult_examples"] = max(1, found["train_examples"] // 10)
        return found

    def check(self, config: Any = None) -> None:
        """Refuse what no images could satisfy, before any are read."""
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
        if difficult is Difficult.kmnist and self.images.name != "mnist":
            raise UserError(f"data.difficult=kmnist: goes with data=mnist, not {self.images.name}")

    def shape(self) -> Shape:
        examples = (self.train_examples or self.images.examples["train"]) + self.difficult_examples
        return Shape(self.images.shape, self.images.classes, examples)

    def files(self) -> Mapping[str, str]:
        from ntkexp.data.images.sources import files_here

        return files_here(self)

    def build(self, seed: int, device: torch.device, *, progress: bool) -> Dataset:
        from ntkexp.data.images.dataset import load_images

        return load_images(self, seed, device, progress=progress)
