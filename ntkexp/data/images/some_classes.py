"""Images of some of the classes of a set."""

from __future__ import annotations

import numpy as np
import torch

from ntkexp.data.cifar10 import Cifar10
from ntkexp.data.cifar_classes import CifarClasses
from ntkexp.data.dataset import Dataset, Split
from ntkexp.data.images.dataset import chosen_rows, normalised
from ntkexp.data.images.labelled import LabelledImages
from ntkexp.data.images.sources import checksums, read_images, remarks


def load_cifar_classes(
    config: CifarClasses, seed: int, device: torch.device, *, progress: bool
) -> Dataset:
    """Normalised as all of CIFAR-10 is, whichever classes are asked for."""
    kind = Cifar10.images
    assert kind.mean is not None and kind.std is not None
    train = read_images(kind, "train", progress=progress)
    test = read_images(kind, "test", progress=progress)
    moments = kind.mean, kind.std
    return Dataset(
        name=config.name,
        train=_split(config, train, "subset", "train_examples", seed, moments, device),
        test=_split(config, test, "test_subset", "test_examples", seed, moments, device),
        classes=len(config.classes),
        input_shape=kind.shape,
        checksums=checksums((*train.files, *test.files)),
        remarks=(*remarks(kind, "train", train), *remarks(kind, "test", test)),
        mean=kind.mean,
        std=kind.std,
        pad_value=-torch.tensor(kind.mean, device=device) / torch.tensor(kind.std, device=device),
        augment=config.augment,
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
