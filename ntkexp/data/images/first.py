"""The first images of an image set, in the order of its files: for tasks of other labels."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from ntkexp.data.dataset import Dataset, Split
from ntkexp.data.images.dataset import moments, normalised
from ntkexp.data.images.options import SplitName
from ntkexp.data.images.sources import SPLITS, checksums, kind_of, read_images, remarks
from ntkexp.errors import UserError


def first_images(
    name: str, counts: Mapping[SplitName, int | None], device: torch.device, *, progress: bool
) -> Dataset:
    """As many of each split as `counts` says, None for all, with their own labels."""
    kind = kind_of(name)
    images = {split: read_images(kind, split, progress=progress) for split in SPLITS}
    for split, of in images.items():
        if (counts[split] or 0) > len(of):
            raise UserError(
                f"{split}_examples={counts[split]:,}: {name} has {len(of):,} {split} images"
            )
    mean, std = moments(kind, images["train"])
    splits = {
        split: Split.clean(
            normalised(of.pixels[: counts[split]], mean, std, device),
            torch.from_numpy(of.labels[: counts[split]]).to(device),
        )
        for split, of in images.items()
    }
    return Dataset(
        name=name,
        train=splits["train"],
        test=splits["test"],
        classes=kind.classes,
        input_shape=kind.shape,
        checksums=checksums(tuple(file for of in images.values() for file in of.files)),
        remarks=tuple(note for split, of in images.items() for note in remarks(kind, split, of)),
        mean=mean,
        std=std,
    )
