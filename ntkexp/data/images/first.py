"""The first images of an image set, in the order of its files, and their labels: for tasks whose
labels are not the classes themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from ntkexp.data.images.dataset import channel_moments, normalised
from ntkexp.data.images.files import Labels
from ntkexp.data.images.options import SplitName
from ntkexp.data.images.sources import SPLITS, checksums, kind_of, read_images, remarks
from ntkexp.errors import UserError


@dataclass(frozen=True)
class FirstImages:
    """Inputs, normalised by the set's own channel means and deviations, and labels, by split."""

    inputs: Mapping[SplitName, Tensor]
    labels: Mapping[SplitName, Labels]
    shape: tuple[int, ...]
    checksums: dict[str, str]
    remarks: tuple[str, ...]
    mean: tuple[float, ...]
    std: tuple[float, ...]


def first_images(
    name: str, counts: Mapping[SplitName, int | None], device: torch.device, *, progress: bool
) -> FirstImages:
    """As many of each split as `counts` says, None for all."""
    kind = kind_of(name)
    images = {split: read_images(kind, split, progress=progress) for split in SPLITS}
    for split, of in images.items():
        if (counts[split] or 0) > len(of):
            raise UserError(
                f"{split}_examples={counts[split]:,}: {name} has {len(of):,} {split} images"
            )
    train = images["train"].pixels
    mean, std = (kind.mean, kind.std) if kind.mean and kind.std else channel_moments(train)
    return FirstImages(
        inputs={
            split: normalised(of.pixels[: counts[split]], mean, std, device)
            for split, of in images.items()
        },
        labels={split: of.labels[: counts[split]] for split, of in images.items()},
        shape=kind.shape,
        checksums=checksums(tuple(file for of in images.values() for file in of.files)),
        remarks=tuple(note for split, of in images.items() for note in remarks(kind, split, of)),
        mean=mean,
        std=std,
    )
