"""CelebA: is a face blond? Women mostly may be, men hardly ever are (George's thesis, 5.3.3).

    ntkexp train +exp=lazy/celeba

The files are those of Liu et al. 2015 (https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html), under
$NTKEXP_DATA/celeba: list_attr_celeba.txt, list_eval_partition.txt, and img_align_celeba/ with the
images in it, or in a folder of that name once more, as some archives have them.
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
class Celeba(Photographs):
    """Positive: Blond_Hair. `with` the spurious attribute: women; `without`: men (Male).

    `train_examples: null` is 20,000 of the official training images, as in the thesis."""

    def files(self) -> Mapping[str, str]:
        from ntkexp.data.spurious.celeba_lists import lists_here

        return lists_here()

    def build(self, seed: int, device: torch.device, *, progress: bool) -> Dataset:
        from ntkexp.data.spurious.celeba_lists import listing
        from ntkexp.data.spurious.options import Kind
        from ntkexp.data.spurious.photographs import load_photographs

        return load_photographs(self, Kind.celeba, listing(), seed, device, progress=progress)
