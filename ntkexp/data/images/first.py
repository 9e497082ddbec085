"""The first images of an image set, in the order of its files: for tasks of other labels."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from ntkexp.data.dataset import Dataset, Split
from ntkexp.data.images.dataset import moments, normalised
from ntkexp.data.images.options import SplitName, Standardise
from ntkexp.data.images.sources import SPLITS, checksums, kind_of, read_images, remarks
from ntkexp.errors import UserError


def first_images(
    name: str,
    counts: Mapping[SplitName, int | None],
    device: torch.device,
    standardise: Standardise = Standardise.published,
    *,
    progress: bool,
) -> Dataset:
    """The first images of each split, as many as `counts` says (None: all), with their labels."""
    kind = kind_of(name)
    images = {split: read_images(kind, split, progress=progress) for split in SPLITS}
    for split, part in images.items():
        if (counts[split] or 0) > len(part):
            raise UserError(
                f"{split}_examples={counts[split]:,}: {name} has {len(part):,} {split} images"
            )
    mean, std = moments(kind, images["train"], standardise)
    splits = {
        split: Split.clean(
            normalised(part.pixels[: counts[split]], mean, std, device),
            torch.from_numpy(part.labels[: counts[split]]).to(device),
        )
        for split, part in images.items()
    }
    return Dataset(
        name=name,
        train=splits["train"],
        test=splits["test"],
        classes=kind.classes,
        input_shape=kind.shape,
        checksums=checksums(tuple(file for part in images.values() for file in part.files)),
        remarks=tuple(n for split, part in images.items() for n in remarks(kind, split, part)),
        mean=mean,
        std=std,
    )
