"""Waterbirds: is it a water bird or a land bird? The background mostly tells (5.3.3).

    ntkexp train +exp=lazy/waterbirds

The files are those of Sagawa et al. 2020 (https://github.com/kohpangwei/group_DRO): the folder
waterbird_complete95_forest2water2 with metadata.csv, under $NTKEXP_DATA or its folder waterbirds.
"""

from __future__ import annotations

import csv
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

NAME, FOLDER, METADATA = "waterbirds", "waterbird_complete95_forest2water2", "metadata.csv"
FOLDERS = (FOLDER, f"{NAME}/{FOLDER}")
FILE, ACCEPTED = "img_filename", {"y": ("0", "1"), "place": ("0", "1"), "split": ("0", "1", "2")}
OFFICIAL = 4795


@dataclass
class Waterbirds(Photographs):
    """Positive: a water bird. `with` the spurious attribute: bird and background agree.

    The official training set has 56 water birds on land and 184 land birds on water: there the
    group `without` holds 56 of each label and not 180."""

    def files(self) -> Mapping[str, str]:
        """File -> sha256; empty where it is not here."""
        places = [data_directory() / folder / METADATA for folder in FOLDERS]
        here = [path for path in places if path.is_file()]
        return checksums_of(here[:1])

    def build(self, seed: int, device: torch.device, *, progress: bool) -> Dataset:
        return load_photographs(self, Kind.waterbirds, listing(), seed, device, progress=progress)


def listing() -> Listing:
    """The images by label (a water bird), attribute (water behind it) and split."""
    folder = folder_of(NAME, FOLDERS, [METADATA])
    names, columns = metadata(folder / METADATA)
    return Listing(
        lists=(folder / METADATA,),
        images=[folder / name for name in names],
        splits=torch.tensor(columns["split"]),
        marks=Marks(
            positive=torch.tensor(columns["y"]) == 1,
            attribute=torch.tensor(columns["place"]) == 1,
        ),
        official=OFFICIAL,
    )


def metadata(path: Path) -> tuple[list[str], dict[str, list[int]]]:
    """Files, and the columns y, place and split."""
    rows = csv.DictReader(lines_of(path))
    columns_there = rows.fieldnames or []
    if lacking := [name for name in (FILE, *ACCEPTED) if name not in columns_there]:
        raise UserError(
            f"{path}: no column {lacking[0]}; it has {', '.join(columns_there) or 'none'}"
        )
    names: list[str] = []
    columns: dict[str, list[int]] = {name: [] for name in ACCEPTED}
    for row in rows:
        where = f"{path}, line {rows.line_num}"
        for name, accepted in ACCEPTED.items():
            if row[name] not in accepted:
                raise UserError(f"{where}: {name} is {row[name]}; expected {' or '.join(accepted)}")
            columns[name].append(int(row[name]))
        if not row[FILE] or Path(row[FILE]).is_absolute() or ".." in Path(row[FILE]).parts:
            raise UserError(f"{where}: {FILE} is {row[FILE]!r}; expected a file of its folder")
        names.append(row[FILE])
    if not names:
        raise UserError(f"{path}: names no image")
    return names, columns
