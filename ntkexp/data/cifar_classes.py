"""Some of the ten classes of CIFAR-10, numbered anew from 0 in the order they are named.

ntkexp train data=cifar_classes data.classes=[2,3,4,5,6,7] model=resnet18
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ntkexp.data.base import Data, Shape
from ntkexp.data.cifar10 import Cifar10
from ntkexp.data.images.options import Augment
from ntkexp.errors import UserError
from ntkexp.options import count, each, option, whole

if TYPE_CHECKING:
    import torch

    from ntkexp.data.dataset import Dataset


@dataclass
class CifarClasses(Data):
    """`None` examples means all of these classes."""

    small: ClassVar = {"train_examples": 2000, "test_examples": 1000}

    classes: list[int] = option(
        [1, 2, 3, 4, 5, 6, 7, 9], each(whole(0, 9, "as a class of CIFAR-10"))
    )
    train_examples: int | None = option(None, count("examples", null="for all"))
    test_examples: int | None = option(None, count("examples", null="for all"))
    augment: Augment = Augment.none

    def check(self, config: Any = None) -> None:
        own = list(self.classes)
        if len(own) < 2 or len(set(own)) < len(own):
            raise UserError(f"data.classes={own}: expected two classes or more, each once")

    def shape(self) -> Shape:
        outputs = 1 if len(self.classes) == 2 else len(self.classes)
        return Shape(Cifar10.images.shape, outputs, self.train_examples)

    def files(self) -> Mapping[str, str]:
        from ntkexp.data.images.sources import files_here

        return files_here(Cifar10())

    def build(self, seed: int, device: torch.device, *, progress: bool) -> Dataset:
        from ntkexp.data.images.some_classes import load_cifar_classes

        return load_cifar_classes(self, seed, device, progress=progress)
