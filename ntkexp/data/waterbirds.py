"""Waterbirds: is it a water bird or a land bird? The background mostly tells (5.3.3).

    ntkexp train +exp=lazy/waterbirds

The files are those of Sagawa et al. 2020 (https://github.com/kohpangwei/group_DRO): the folder
waterbird_complete95_forest2water2 with metadata.csv, under $NTKEXP_DATA or its folder waterbirds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ntkexp.data.spurious.options import Photographs

if TYPE_CHECKING:
    import torch

    from ntkexp.data.dataset import Dataset


@dataclass
class Waterbirds(Photographs):
    """Positive: a water bird. `with` the spurious attribute: bird and background agree.

    The official training set has 56 water birds on land and 184 land birds on water: there the
    group `without` holds 56 of each label and not 180."""

    def files(self) -> Mapping[str, str]:
        from ntkexp.data.spurious.waterbirds_list import list_here

        return list_here()

    def build(self, seed: int, device: torch.device, *, progress: bool) -> Dataset:
        from ntkexp.data.spurious.options import Kind
        from ntkexp.data.spurious.photographs import load_photographs
        from ntkexp.data.spurious.waterbirds_list import listing

        return load_photographs(self, Kind.waterbirds, listing(), seed, device, progress=progress)
