"""A coloured patch on images of CIFAR-10."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ntkexp.data.cifar10 import Cifar10
from ntkexp.data.dataset import Dataset
from ntkexp.data.images.labelled import Pixels
from ntkexp.data.images.sources import SPLITS, checksums, read_images, remarks
from ntkexp.data.patched_cifar import PatchedCifar
from ntkexp.data.spurious.dataset import composed, dataset_of

MAGENTA = (255, 0, 255)


def load_patched_cifar(
    config: PatchedCifar, seed: int, device: torch.device, *, progress: bool
) -> Dataset:
    """Both splits, the patch put on those that the proportions choose."""
    kind = Cifar10.images
    sources = {split: read_images(kind, split, progress=progress) for split in SPLITS}

    def mark(pixels: Pixels, attribute: Tensor, split: str) -> Pixels:
        return patched(pixels, attribute, config.patch)

    train, test = (
        composed(
            config,
            config.proportions,
            split,
            (one.pixels, one.labels),
            (config.negative, config.positive),
            mark,
            seed,
        )
        for split, one in sources.items()
    )
    return dataset_of(
        config,
        config.proportions,
        (train, test),
        seed,
        device,
        checksums=checksums(tuple(file for one in sources.values() for file in one.files)),
        remarks=[note for split, one in sources.items() for note in remarks(kind, split, one)],
    )


def patched(pixels: Pixels, attribute: Tensor, side: int) -> Pixels:
    """The images (n, 3, H, W), those with the attribute with a magenta square in the corner."""
    found = np.array(pixels)
    found[attribute.numpy(), :, :side, :side] = np.array(MAGENTA, np.uint8)[:, None, None]
    return found
