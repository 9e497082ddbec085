"""CIFAR-10 in two classes with a coloured patch that mostly tells them apart (after 5.3.3).

    ntkexp train +exp=lazy/spurious_cifar
    ntkexp train +exp=lazy/spurious_cifar data.proportions=waterbirds

It stands in for CelebA and Waterbirds, in their proportions, where those are not at hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ntkexp.data.base import Shape
from ntkexp.data.cifar10 import Cifar10
from ntkexp.data.dataset import Dataset
from ntkexp.data.images.files import Pixels
from ntkexp.data.images.sources import SPLITS, files_here, read_images
from ntkexp.data.spurious import Kind, SpuriousImages, dataset_with_marks
from ntkexp.errors import UserError
from ntkexp.options import each, option, whole

CLASSES = each(whole(0, 9, "as a class of CIFAR-10"), 1, once=True)
MAGENTA = (255, 0, 255)


@dataclass
class PatchedCifar(SpuriousImages):
    """Classes are numbers of CIFAR-10's: 0 airplane, 1 automobile, 2 bird, 3 cat, 4 deer, 5 dog,
    6 frog, 7 horse, 8 ship, 9 truck; several make one. The patch is a square of `patch` pixels in
    the upper left corner, magenta; without the attribute there is none."""

    positive: list[int] = option([0], CLASSES, "classes that count as positive")
    negative: list[int] = option([8], CLASSES, "classes that count as negative")
    patch: int = option(6, whole(1, 32, "pixels"), "height and width of the patch")
    proportions: Kind = option(Kind.celeba, about="whose proportions of label and patch")

    def check(self, config: Any = None) -> None:
        if both := sorted(set(self.positive) & set(self.negative)):
            raise UserError(
                f"data.negative={list(self.negative)}: class {both[0]} is positive too; expected "
                "other classes"
            )

    def shape(self) -> Shape:
        return Shape(Cifar10.images.shape, 1, self.train_examples)

    def files(self) -> Mapping[str, str]:
        return files_here(Cifar10.images)

    def build(self, seed: int, device: torch.device, *, progress: bool) -> Dataset:
        """Both splits, the patch put on those that the proportions choose."""
        kind = Cifar10.images
        sources = {split: [(kind, read_images(kind, split, progress=progress))] for split in SPLITS}

        def mark(pixels: Pixels, attribute: Tensor, split: str) -> Pixels:
            return patched(pixels, attribute, self.patch)

        classes = self.negative, self.positive
        return dataset_with_marks(self, self.proportions, sources, classes, mark, seed, device)


def patched(pixels: Pixels, attribute: Tensor, side: int) -> Pixels:
    """The images (n, 3, H, W), those with the attribute with a magenta square in the corner."""
    marked = np.array(pixels)
    marked[attribute.numpy(), :, :side, :side] = np.array(MAGENTA, np.uint8)[:, None, None]
    return marked
