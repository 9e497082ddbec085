"""A training and a test split: inputs, targets, and who belongs to which subset."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from ntkexp.data.images.options import Augment


@dataclass(frozen=True)
class Split:
    """Examples, whole and normalised, on the device of the run.

    `targets` are what is trained on or tested against; `clean_targets` what they were before any
    was redrawn; `corrupted` tells whose label was redrawn (which may have come out right by
    chance); `difficult` who belongs to the difficult part; `groups` are further named subsets;
    `scores` are of difficulty, low for hard examples.
    """

    inputs: Tensor  # (n, *input_shape) float32
    targets: Tensor  # (n,) int64
    clean_targets: Tensor  # (n,) int64
    corrupted: Tensor  # (n,) bool
    difficult: Tensor  # (n,) bool
    groups: Mapping[str, Tensor] = field(default_factory=dict)  # name -> (n,) bool
    scores: Tensor | None = None  # (n,) float64

    def subsets(self) -> dict[str, Tensor]:
        """The named subsets that it has, as masks (n,): evaluation and probes take them by name."""
        masks = {"all": torch.ones_like(self.difficult)}
        if bool(self.difficult.any()):
            masks |= {"easy": ~self.difficult, "difficult": self.difficult}
        if bool(self.corrupted.any()):
            masks |= {"noisy": self.corrupted, "intact": ~self.corrupted}
        return masks | dict(self.groups)

    def __len__(self) -> int:
        return len(self.targets)

    @classmethod
    def clean(cls, inputs: Tensor, targets: Tensor) -> Split:
        """A split in which no label was redrawn and nobody is difficult."""
        nobody = torch.zeros(len(targets), dtype=torch.bool, device=targets.device)
        return cls(inputs, targets, targets, nobody, nobody)


@dataclass(frozen=True)
class Dataset:
    """A training and a test split, and what a model and a run's provenance need to know of them.

    `classes` is None where the targets are numbers.
    Of a stream `stream` draws the minibatches, (step, count) -> inputs and targets on the device, a
    function of seed and step; `train` is then a fixed sample, which is evaluated and looked at.
    `checksums` has the sha256 of each source file, `remarks` in what they differ from the
    official ones. Images were normalised as (pixel / 255 - mean) / std per channel.
    """

    name: str
    train: Split
    test: Split
    classes: int | None
    input_shape: tuple[int, ...]
    checksums: dict[str, str]
    remarks: tuple[str, ...] = ()
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    augment: Augment = Augment.none
    stream: Callable[[int, int], tuple[Tensor, Tensor]] | None = None

    @cached_property
    def pad_value(self) -> Tensor:
        """(channels,): a black pixel after the normalisation."""
        device = self.train.inputs.device
        return -torch.tensor(self.mean, device=device) / torch.tensor(self.std, device=device)

    @property
    def sees_examples_as_they_are(self) -> bool:
        """True if minibatches are the examples of `train`, without further draws."""
        return self.augment is Augment.none and self.stream is None
