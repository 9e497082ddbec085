"""The base of all data sets: options, shapes, and a method that loads the examples. Its import
loads no PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ntkexp.components import Component

if TYPE_CHECKING:
    import torch

    from ntkexp.data.dataset import Dataset


@dataclass(frozen=True)
class Shape:
    """The shapes that are known before any data are loaded: that of an input, the outputs that a
    network has for it, and the training examples, None where only the files tell."""

    inputs: tuple[int, ...]
    outputs: int
    examples: int | None = None


@dataclass
class Data(Component):
    """The base of all data."""

    kind: ClassVar[str] = "data"
    has_scores: ClassVar[bool] = False  # true if training examples have `Split.scores`
    # The named subsets that its training examples have; None where only the data tell.
    groups: ClassVar[frozenset[str] | None] = None

    def subsets(self) -> frozenset[str] | None:
        """`groups`, unless options decide."""
        return self.groups

    def shape(self) -> Shape | None:
        """None where only the files tell; then nothing is checked before they are loaded."""
        return None

    def files(self) -> Mapping[str, str]:
        """File -> sha256 of all that a run of these options reads; empty where some are missing."""
        return {}

    def build(self, seed: int, device: torch.device, *, progress: bool) -> Dataset:
        """The examples, whole and normalised, on `device`: a function of options and seed."""
        raise self.lacks("build(seed, device, *, progress)")
