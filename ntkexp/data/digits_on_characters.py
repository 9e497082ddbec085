"""Two digits of MNIST on two characters of KMNIST that mostly tell them apart (after 5.3.3).

    ntkexp train +exp=lazy/spurious_mlp
    ntkexp train +exp=lazy/spurious_mlp data.proportions=celeba

The digit is the bird and the character its background: it stands in for Waterbirds, in its
proportions, where that is not at hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ntkexp.data.base import Shape
from ntkexp.data.kmnist import Kmnist
from ntkexp.data.mnist import Mnist
from ntkexp.data.spurious.options import Kind, SpuriousImages
from ntkexp.errors import UserError
from ntkexp.options import each, option, share, whole

if TYPE_CHECKING:
    import torch

    from ntkexp.data.dataset import Dataset


@dataclass
class DigitsOnCharacters(SpuriousImages):
    """`digits`: the negative and the positive one. `characters`: those without and with the
    attribute, numbers of KMNIST's classes, `brightness` times as bright as they are. A digit of
    intensity d covers as much of its background: d + (1 - d) times the character."""

    digits: list[int] = option([3, 8], each(whole(0, 9, "as a digit")))
    characters: list[int] = option([0, 1], each(whole(0, 9, "as a class of KMNIST")))
    brightness: float = option(1.0, share("a share"))
    proportions: Kind = Kind.waterbirds

    def check(self, config: Any = None) -> None:
        for key in ("digits", "characters"):
            own = list(getattr(self, key))
            if len(own) != 2 or len(set(own)) != 2:
                raise UserError(f"data.{key}={own}: expected two that differ")

    def shape(self) -> Shape:
        return Shape(Mnist.images.shape, 1, self.train_examples)

    def files(self) -> Mapping[str, str]:
        from ntkexp.data.images.sources import files_here

        found = [files_here(Mnist()), files_here(Kmnist())]
        return {**found[0], **found[1]} if all(found) else {}

    def build(self, seed: int, device: torch.device, *, progress: bool) -> Dataset:
        from ntkexp.data.spurious.characters import load_digits_on_characters

        return load_digits_on_characters(self, seed, device, progress=progress)
