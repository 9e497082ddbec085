"""CelebA: is a face blond? Women mostly may be, men hardly ever are (George's thesis, 5.3.3).

    ntkexp train +exp=lazy/celeba

The files are those of Liu et al. 2015 (https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html), under
$NTKEXP_DATA/celeba: list_attr_celeba.txt, list_eval_partition.txt, and img_align_celeba/ with the
images in it, or in a folder of that name once more, as some archives have them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

from ntkexp.data.dataset import Dataset
from ntkexp.data.images.sources import data_directory
from ntkexp.data.listed_photographs import (
    Listing,
    checksums_of,
    folder_of,
    list_at,
    load_photographs,
)
from ntkexp.data.spurious import Kind, Marks, Photographs
from ntkexp.errors import UserError

NAME = "celeba"
ATTRIBUTES, PARTITION, IMAGES = (
    "list_attr_celeba.txt",
    "list_eval_partition.txt",
    "img_align_celeba",
)
TARGET, MALE = "Blond_Hair", "Male"
OFFICIAL = 162_770


@dataclass
class Celeba(Photographs):
    """Positive: Blond_Hair. `with` the spurious attribute: women; `without`: men (Male).

    `train_examples: null` is 20,000 of the official training images, as in the thesis."""

    def files(self) -> Mapping[str, str]:
        """File -> sha256; empty where one is missing."""
        lists = [data_directory() / NAME / name for name in (ATTRIBUTES, PARTITION)]
        return checksums_of(lists) if all(path.is_file() for path in lists) else {}

    def build(self, seed: int, device: torch.device, *, progress: bool) -> Dataset:
        return load_photographs(self, Kind.celeba, listing(), seed, device, progress=progress)


def listing() -> Listing:
    """The images by label (blond), attribute (a woman) and split; both lists name the same."""
    folder = folder_of(NAME, [NAME], [ATTRIBUTES, PARTITION])
    # Two lines of heading: the number of images, and the names of the attributes.
    marks = list_at(
        folder / ATTRIBUTES, {TARGET: (1, -1), MALE: (1, -1)}, sep=r"\s+", skiprows=1, index_col=0
    )
    splits = list_at(
        folder / PARTITION, {"split": (0, 1, 2)}, sep=r"\s+", names=["split"], index_col=0
    )
    if not marks.index.equals(splits.index):
        raise UserError(
            f"{folder}: {ATTRIBUTES} has {len(marks):,} images and {PARTITION} {len(splits):,}; "
            "expected the same images in both, in one order"
        )
    return Listing(
        lists=(folder / ATTRIBUTES, folder / PARTITION),
        images=_paths(folder, [*marks.index]),
        splits=torch.tensor(splits["split"].to_numpy()),
        marks=Marks(
            positive=torch.tensor(marks[TARGET].to_numpy() == 1),
            attribute=torch.tensor(marks[MALE].to_numpy() == -1),
        ),
        official=OFFICIAL,
    )


def _paths(folder: Path, names: list[str]) -> list[Path]:
    for home in (folder / IMAGES, folder / IMAGES / IMAGES):
        if (home / names[0]).exists():
            return [home / name for name in names]
    raise UserError(
        f"data={NAME}: {folder / IMAGES} has no {names[0]}; expected the aligned images there, or "
        f"in {IMAGES}/{IMAGES}"
    )
