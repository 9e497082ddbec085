"""Two digits of MNIST on two characters of KMNIST that mostly tell them apart (after 5.3.3).

    ntkexp train +exp=lazy/spurious_mlp
    ntkexp train +exp=lazy/spurious_mlp data.proportions=celeba

The digit is the bird and the character its background: it stands in for Waterbirds, in its
proportions, where that is not at hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ntkexp.data.base import Shape
from ntkexp.data.dataset import Dataset
from ntkexp.data.images.files import LabelledImages, Pixels
from ntkexp.data.images.sources import SPLITS, files_here, read_images
from ntkexp.data.kmnist import Kmnist
from ntkexp.data.mnist import Mnist
from ntkexp.data.spurious import Kind, SpuriousImages, dataset_with_marks
from ntkexp.errors import UserError
from ntkexp.options import each, option, share, whole
from ntkexp.seeds import generator


@dataclass
class DigitsOnCharacters(SpuriousImages):
    """`digits`: the negative and the positive one. `characters`: those without and with the
    attribute, numbers of KMNIST's classes, `brightness` times as bright as they are. A digit of
    intensity d covers as much of its background: d + (1 - d) times the character."""

    digits: list[int] = option(
        [3, 8], each(whole(0, 9, "as a digit"), 2, most=2, once=True), "negative and positive one"
    )
    characters: list[int] = option(
        [0, 1],
        each(whole(0, 9, "as a class of KMNIST"), 2, most=2, once=True),
        "characters behind them, without and with the attribute",
    )
    brightness: float = option(1.0, share("a share"), "of the characters, 1 as they are")
    proportions: Kind = option(Kind.waterbirds, about="whose proportions of label and attribute")

    def shape(self) -> Shape:
        return Shape(Mnist.images.shape, 1, self.train_examples)

    def files(self) -> Mapping[str, str]:
        digits, characters = files_here(Mnist.images), files_here(Kmnist.images)
        return {**digits, **characters} if digits and characters else {}

    def build(self, seed: int, device: torch.device, *, progress: bool) -> Dataset:
        """Both splits; backgrounds of a split come from the same split of KMNIST."""
        kinds = (Mnist.images, Kmnist.images)
        sources = {
            split: [(kind, read_images(kind, split, progress=progress)) for kind in kinds]
            for split in SPLITS
        }

        def mark(pixels: Pixels, attribute: Tensor, split: str) -> Pixels:
            _, characters = sources["train" if split == "train" else "test"][1]
            drawn = backgrounds(self, characters, attribute, seed, split)
            return laid_over(pixels, drawn, self.brightness)

        negative, positive = self.digits
        classes = [negative], [positive]
        return dataset_with_marks(self, self.proportions, sources, classes, mark, seed, device)


def backgrounds(
    config: DigitsOnCharacters,
    characters: LabelledImages,
    attribute: Tensor,
    seed: int,
    split: str,
) -> Pixels:
    """A character for every image, drawn with replacement from those of its attribute."""
    rows = np.zeros(len(attribute), dtype=np.int64)
    for mark, character in zip((False, True), config.characters, strict=True):
        pool = np.flatnonzero(characters.labels == character)
        if not len(pool):
            raise UserError(f"data.characters={config.characters}: no {split} image of {character}")
        members = (attribute == mark).numpy()
        stream = generator(seed, f"background {split}", int(mark))
        rows[members] = pool[
            torch.randint(len(pool), (int(members.sum()),), generator=stream).numpy()
        ]
    return characters.pixels[rows]


def laid_over(digits: Pixels, characters: Pixels, brightness: float) -> Pixels:
    """d + (1 - d) brightness k, d and k in [0, 1], rounded to bytes again."""
    ink = digits.astype(np.float32)
    behind = (255 - ink) * (brightness / 255) * characters.astype(np.float32)
    return np.rint(ink + behind).astype(np.uint8)
