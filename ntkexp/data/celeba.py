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
    lines_of,
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
        """File -> sha256; empty where one is not here."""
        lists = [data_directory() / NAME / name for name in (ATTRIBUTES, PARTITION)]
        return checksums_of(lists) if all(path.is_file() for path in lists) else {}

    def build(self, seed: int, device: torch.device, *, progress: bool) -> Dataset:
        return load_photographs(self, Kind.celeba, listing(), seed, device, progress=progress)


def listing() -> Listing:
    """The images by label (blond), attribute (a woman) and split; both lists must name the same
    images."""
    folder = folder_of(NAME, [NAME], [ATTRIBUTES, PARTITION])
    names, marks = attributes(folder / ATTRIBUTES)
    splits = partition(folder / PARTITION, names)
    return Listing(
        lists=(folder / ATTRIBUTES, folder / PARTITION),
        images=_paths(folder, names),
        splits=torch.tensor(splits),
        marks=marks,
        official=OFFICIAL,
    )


def attributes(path: Path) -> tuple[list[str], Marks]:
    """Files, and for each whether it is blond (positive) and a woman's (the attribute)."""
    lines = lines_of(path)
    if len(lines) < 2:
        raise UserError(f"{path}: ends in line {len(lines)}; expected a number, names, images")
    columns = lines[1].split()
    for name in (TARGET, MALE):
        if name not in columns:
            raise UserError(f"{path}, line 2: no attribute {name} among {len(columns)}")
    places = [columns.index(TARGET), columns.index(MALE)]
    names, values = [], []
    for number, line in enumerate(lines[2:], start=3):
        words = line.split()
        if len(words) != len(columns) + 1:
            raise UserError(
                f"{path}, line {number}: {len(words)} words, expected a file and {len(columns)} "
                "attributes"
            )
        marks = [words[1 + place] for place in places]
        if not {"1", "-1"}.issuperset(marks):
            raise UserError(
                f"{path}, line {number}: {TARGET} and {MALE} are {' and '.join(marks)}; expected 1 "
                "or -1"
            )
        names.append(words[0])
        values.append([mark == "1" for mark in marks])
    if lines[0] != str(len(names)):
        raise UserError(f"{path}: line 1 says {lines[0]}, but {len(names):,} images follow")
    blond, male = torch.tensor(values).T
    return names, Marks(positive=blond, attribute=~male)


def partition(path: Path, names: list[str]) -> list[int]:
    """The split of each image, in the order of `names`, which must be that of the file."""
    lines = lines_of(path)
    if len(lines) != len(names):
        raise UserError(f"{path}: {len(lines):,} lines; {ATTRIBUTES} has {len(names):,} images")
    splits = []
    for number, (line, name) in enumerate(zip(lines, names, strict=True), start=1):
        words = line.split()
        if len(words) != 2 or words[1] not in ("0", "1", "2"):
            raise UserError(f"{path}, line {number}: {line[:60]!r}; expected a file and 0, 1 or 2")
        if words[0] != name:
            raise UserError(
                f"{path}, line {number}: {words[0]}, where {ATTRIBUTES} has {name}; expected the "
                "same images in both"
            )
        splits.append(int(words[1]))
    return splits


def _paths(folder: Path, names: list[str]) -> list[Path]:
    for home in (folder / IMAGES, folder / IMAGES / IMAGES):
        if names and (home / names[0]).exists():
            return [home / name for name in names]
    raise UserError(
        f"data={NAME}: {folder / IMAGES} has no {names[0]}; expected the aligned images there, or "
        f"in {IMAGES}/{IMAGES}"
    )
