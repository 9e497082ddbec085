"""What the network sees: images or points, their labels, and the batches made of them."""

from __future__ import annotations

import torch
from omegaconf import OmegaConf

from ntkexp.config import DataConfig, DiskConfig, ImagesConfig
from ntkexp.data.batches import Batches, crop_flip
from ntkexp.data.dataset import Dataset, Split
from ntkexp.data.disk_points import check_disk, load_disk
from ntkexp.data.image_dataset import check_images, load_images
from ntkexp.data.image_kinds import KINDS
from ntkexp.data.once import reading_once
from ntkexp.data.sources import files_here, verify
from ntkexp.errors import UserError
from ntkexp.options import check_options

__all__ = [
    "NAMES",
    "Batches",
    "Dataset",
    "Split",
    "check",
    "crop_flip",
    "files_here",
    "load",
    "reading_once",
    "verify",
]

NAMES = (*KINDS, "disk")


def check(config: DataConfig) -> None:
    """Refuse an impossible configuration; reads no data, so it can go before everything else."""
    check_options(OmegaConf.structured(config), "data")
    if isinstance(config, ImagesConfig):
        check_images(config)
    elif isinstance(config, DiskConfig):
        check_disk(config)
    else:
        raise UserError(f"data.name={config.name}: there are {', '.join(NAMES)}")


def load(config: DataConfig, seed: int, device: torch.device, *, progress: bool = True) -> Dataset:
    """The dataset of `config`, whole and normalised, on `device`.

    Which examples, which labels and which points depend on the seed alone.

    >>> load(DiskConfig(), seed=0, device=torch.device("cpu")).test.inputs.shape
    torch.Size([2500, 2])
    """
    check(config)
    if isinstance(config, ImagesConfig):
        return load_images(config, seed, device, progress=progress)
    assert isinstance(config, DiskConfig)
    return load_disk(config, seed, device)
