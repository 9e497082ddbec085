"""Waterbirds: is it a water bird or a land bird? The background mostly tells (5.3.3).

    ntkexp train +exp=lazy/waterbirds

The files are those of Sagawa et al. 2020 (https://github.com/kohpangwei/group_DRO): the folder
waterbird_complete95_forest2water2 with metadata.csv, under $NTKEXP_DATA or its folder waterbirds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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

NAME, FOLDER, METADATA = "waterbirds", "waterbird_complete95_forest2water2", "metadata.csv"
FOLDERS = (FOLDER, f"{NAME}/{FOLDER}")
OFFICIAL = 4795


@dataclass
class Waterbirds(Photographs):
    """Positive: a water bird. `with` the spurious attribute: bird and background agree.

    The official training set has 56 water birds on land and 184 land birds on water: there the
    group `without` holds 56 of each label and not 180."""

    def files(self) -> Mapping[str, str]:
        """File -> sha256; empty where it is missing."""
        places = [data_directory() / folder / METADATA for folder in FOLDERS]
        existing = [path for path in places if path.is_file()]
        return checksums_of(existing[:1])

    def build(self, seed: int, device: torch.device, *, progress: bool) -> Dataset:
        return load_photographs(self, Kind.waterbirds, listing(), seed, device, progress=progress)


def listing() -> Listing:
    """The images by label (a water bird), attribute (water behind it) and split."""
    folder = folder_of(NAME, FOLDERS, [METADATA])
    columns = {"y": (0, 1), "place": (0, 1), "split": (0, 1, 2)}
    table = list_at(folder / METADATA, columns, index_col="img_filename")
    return Listing(
        lists=(folder / METADATA,),
        images=[folder / name for name in table.index],
        splits=torch.tensor(table["split"].to_numpy()),
        marks=Marks(
            positive=torch.tensor(table["y"].to_numpy() == 1),
            attribute=torch.tensor(table["place"].to_numpy() == 1),
        ),
        official=OFFICIAL,
    )
