"""Photographs that a set's own lists name: their files, splits, labels and attributes."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from PIL import Image
from torch import Tensor

from ntkexp.data.dataset import Dataset
from ntkexp.data.images.dataset import chosen_rows
from ntkexp.data.images.files import Pixels, opened
from ntkexp.data.images.sources import data_directory, sha256_of
from ntkexp.data.spurious import (
    MOST_EXAMPLES,
    Kind,
    Marked,
    Marks,
    Photographs,
    balanced_groups,
    dataset_of,
)
from ntkexp.errors import UserError
from ntkexp.progress import Progress
from ntkexp.seeds import generator

TRAIN, TEST = 0, 2  # 1 is for validation, and is left alone


@dataclass(frozen=True)
class Listing:
    """All images that a set's lists name. `official`: how many training images it should have."""

    lists: tuple[Path, ...]
    images: Sequence[Path]
    splits: Tensor  # (n,): 0, 1 or 2
    marks: Marks
    official: int


def load_photographs(
    config: Photographs,
    kind: Kind,
    listing: Listing,
    seed: int,
    device: torch.device,
    *,
    progress: bool,
) -> Dataset:
    """Training images of the seed, and a balanced test set of the seed; nothing else is decoded."""
    training = (listing.splits == TRAIN).nonzero()[:, 0]
    wanted = config.train_examples or min(MOST_EXAMPLES, len(training))
    rows = training[chosen_rows(seed, "subset", len(training), wanted, "data.train_examples")]
    test = (listing.splits == TEST).nonzero()[:, 0]
    groups = balanced_groups(listing.marks.of(test), kind, config.balanced, seed, "test choice")
    test = test[groups["balanced"]]
    test = test[torch.randperm(len(test), generator=generator(seed, "order test"))]
    notes = []
    if len(training) != listing.official:
        notes.append(
            f"{config.name}: {len(training):,} train images, the official set has "
            f"{listing.official:,}"
        )
    splits, digest = [], hashlib.sha256()
    total = len(rows) + len(test)
    with Progress(f"decoding {config.name}", total, shown=progress) as bar:
        for chosen in (rows, test):
            paths = [listing.images[row] for row in chosen.tolist()]
            pixels = np.stack([_decoded(path, config.size, digest, bar) for path in paths])
            splits.append(Marked(pixels, listing.marks.of(chosen)))
    notes.append(f"{config.name}: sha256 of the {total:,} image files read {digest.hexdigest()}")
    return dataset_of(
        config,
        kind,
        (splits[0], splits[1]),
        seed,
        device,
        checksums=checksums_of(listing.lists),
        remarks=notes,
    )


def checksums_of(lists: Sequence[Path]) -> dict[str, str]:
    """List -> sha256, lists named as they lie under the data directory."""
    root = data_directory()
    return {path.relative_to(root).as_posix(): sha256_of(path) for path in lists}


def folder_of(name: str, folders: Sequence[str], lists: Sequence[str]) -> Path:
    """The first of `folders` that the data directory has, which must have all the lists."""
    root = data_directory()
    folder = next((path for path in map(root.joinpath, folders) if path.is_dir()), None)
    if folder is None:
        raise UserError(
            f"data={name}: no folder {' or '.join(folders)} under {root} (NTKEXP_DATA says where "
            f"to look); expected one with {', '.join(lists)} and its images"
        )
    for file in lists:
        if not (folder / file).is_file():
            raise UserError(f"data={name}: {folder} has no file {file}")
    return folder


def list_at(path: Path, accepted: Mapping[str, Collection[int]], **how: Any) -> pd.DataFrame:
    """A list of images as a table; refused where a column is missing or holds another value.

    `how` it is written, in the words of `pandas.read_csv`.
    """
    try:
        table: pd.DataFrame = pd.read_csv(path, **how)
    except ValueError as error:
        raise UserError(f"{path}: no list of images ({str(error).strip()})") from error
    for name, values in accepted.items():
        if name not in table:
            raise UserError(f"{path}: no column {name}; it has {', '.join(map(str, table))}")
        wrong = table[name][~table[name].isin(values)]
        if len(wrong):
            words = " or ".join(map(str, values))
            raise UserError(
                f"{path}: {name} of image {wrong.index[0]} is {wrong.iloc[0]}; expected {words}"
            )
    return table


def _decoded(path: Path, size: int, digest: hashlib._Hash, bar: Progress) -> Pixels:
    """(3, size, size): the largest square in the middle, scaled down."""
    with opened(path) as file:
        content = file.read()
    digest.update(content)
    try:
        with Image.open(io.BytesIO(content)) as image:
            side = min(image.size)
            left, top = ((whole - side) // 2 for whole in image.size)
            square = image.convert("RGB").crop((left, top, left + side, top + side))
            fitted = square.resize((size, size), Image.Resampling.BILINEAR)
    except Exception as error:  # what is no image raises nearly anything
        raise UserError(f"{path}: cannot be decoded as an image ({error})") from error
    bar.advance(1)
    return np.asarray(fitted).transpose(2, 0, 1)
