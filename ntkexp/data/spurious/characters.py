"""Digits of MNIST laid over characters of KMNIST."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ntkexp.data.dataset import Dataset
from ntkexp.data.digits_on_characters import DigitsOnCharacters
from ntkexp.data.images.labelled import LabelledImages, Pixels
from ntkexp.data.images.options import SplitName
from ntkexp.data.images.sources import SPLITS, checksums, read_images, remarks
from ntkexp.data.kmnist import Kmnist
from ntkexp.data.mnist import Mnist
from ntkexp.data.spurious.dataset import composed, dataset_of
from ntkexp.errors import UserError
from ntkexp.seeds import generator


def load_digits_on_characters(
    config: DigitsOnCharacters, seed: int, device: torch.device, *, progress: bool
) -> Dataset:
    """Both splits; backgrounds of a split come from the same split of KMNIST."""
    kinds = (Mnist.images, Kmnist.images)
    read: dict[SplitName, tuple[LabelledImages, LabelledImages]] = {}
    for split in SPLITS:
        digits, characters = (read_images(kind, split, progress=progress) for kind in kinds)
        read[split] = digits, characters

    def mark(pixels: Pixels, attribute: Tensor, split: str) -> Pixels:
        characters = read["train" if split == "train" else "test"][1]
        drawn = backgrounds(config, characters, attribute, seed, split)
        return laid_over(pixels, drawn, config.brightness)

    negative, positive = config.digits
    train, test = (
        composed(
            config,
            config.proportions,
            split,
            (digits.pixels, digits.labels),
            ([negative], [positive]),
            mark,
            seed,
        )
        for split, (digits, _) in read.items()
    )
    pairs = [
        (kind, split, one)
        for split, images in read.items()
        for kind, one in zip(kinds, images, strict=True)
    ]
    return dataset_of(
        config,
        config.proportions,
        (train, test),
        seed,
        device,
        checksums=checksums(tuple(file for _, _, one in pairs for file in one.files)),
        remarks=[note for kind, split, one in pairs for note in remarks(kind, split, one)],
    )


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
