"""Data sets, by name: images or points, their labels, and the batches made of them.

What needs PyTorch is imported on first use: a config is composed without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omegaconf import OmegaConf

from ntkexp.options import check_options

if TYPE_CHECKING:
    import torch

    from ntkexp.data.base import Data
    from ntkexp.data.batches import Batches, crop_flip
    from ntkexp.data.dataset import Dataset, Split
    from ntkexp.data.images.files import sharing

__all__ = ["Batches", "Dataset", "Split", "crop_flip", "load", "sharing"]

HOMES = {
    "Batches": "batches",
    "Dataset": "dataset",
    "Split": "dataset",
    "crop_flip": "batches",
    "sharing": "images.files",
}


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{HOMES[name]}"), name)


def load(options: Data, seed: int, device: torch.device, *, progress: bool = True) -> Dataset:
    """The dataset of `options`, whole and normalised, on `device`.

    Which examples, which labels and which points depend on the seed alone.

    >>> import torch
    >>> from ntkexp.data.disk import Disk
    >>> load(Disk(), seed=0, device=torch.device("cpu")).test.inputs.shape
    torch.Size([2500, 2])
    """
    check_options(OmegaConf.structured(options), "data")
    options.check()
    return options.build(seed, device, progress=progress)
