"""A training and a test split: inputs, targets, and who belongs to which subset."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from ntkexp.data.images.options import Augment
from ntkexp.errors import UserError
from ntkexp.seeds import generator


def redraw_labels(
    labels: Tensor, share: float, classes: int, seed: int, purpose: str, *, excludes_true: bool
) -> tuple[Tensor, Tensor]:
    """Each label stays with probability 1 - share, else a uniform one takes its place.

    Returns the labels and who was redrawn. Of those, one in `classes` is right by chance, unless
    `excludes_true`. The draw of an example depends on the seed and its position in `labels`
    alone. A label that is redrawn at one share is redrawn, to the same class, at a higher share.

    >>> labels, redrawn = redraw_labels(
    ...     torch.zeros(4, dtype=torch.int64), 1.0, 2, 0, "noise", excludes_true=True
    ... )
    >>> labels.tolist(), redrawn.all().item()
    ([1, 1, 1, 1], True)
    """
    count = len(labels)
    chance = torch.rand(count, generator=generator(seed, purpose, 0), dtype=torch.float64)
    redrawn = chance < share
    if excludes_true:
        others = torch.randint(classes - 1, (count,), generator=generator(seed, purpose, 1))
        drawn = others + (others >= labels)  # skips the true one
    else:
        drawn = torch.randint(classes, (count,), generator=generator(seed, purpose, 1))
    return torch.where(redrawn, drawn, labels), redrawn


@dataclass(frozen=True)
class Split:
    """Examples, whole and normalised, on the device of the run.

    `targets` are trained on or tested against; `clean_targets` are the targets before any was
    redrawn; `corrupted` marks the examples whose label was redrawn (which may have come out right
    by chance); `difficult` those of the difficult part; `groups` are further named subsets;
    `scores` are low for hard examples.
    """

    inputs: Tensor  # (n, *input_shape) float32
    targets: Tensor  # classes (n,) int64, or numbers (n,) or (n, c) float32
    clean_targets: Tensor  # as `targets`
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

    @classmethod
    def of(
        cls,
        examples: Tensor | Sequence[tuple[Tensor, int]],
        targets: Tensor | None = None,
        *,
        noise: float = 0.0,
        difficult: int | Tensor = 0,
        groups: Mapping[str, Tensor] | None = None,
        classes: int | None = None,
        seed: int = 0,
    ) -> Split:
        """One's own examples, with label noise and difficult ones as the house's images have them.

        Args:
            examples: inputs (n, ...), or a torch Dataset of pairs of input and class.
            targets: (n,), the classes of `examples` where those are inputs alone.
            noise: the share of labels that is drawn anew, of the examples that are not difficult.
            difficult: a mask (n,) of examples that keep their labels, or how many to draw, which
                get random ones.
            groups: further subsets, as masks (n,).
            classes: how many there are; one more than the highest unless told.

        >>> split = Split.of(torch.zeros(8, 2), torch.arange(8) % 2, noise=0.5, difficult=2)
        >>> {name: int(mask.sum()) for name, mask in split.subsets().items()}
        {'all': 8, 'easy': 6, 'difficult': 2, 'noisy': 6, 'intact': 2}
        """
        if targets is None:
            pairs = [examples[number] for number in range(len(examples))]
            examples = torch.stack([torch.as_tensor(example) for example, _ in pairs])
            targets = torch.tensor([int(target) for _, target in pairs])
            for number, (_, target) in enumerate(pairs):
                if int(target) != target:
                    raise UserError(
                        f"Split.of: example {number} has the target {float(target):g}; expected a "
                        "class, as a whole number (Split.clean takes tensors of numbers)"
                    )
        assert isinstance(examples, Tensor)
        device, targets = targets.device, targets.cpu()
        count, classes = len(targets), classes or int(targets.max()) + 1
        labels, redrawn = redraw_labels(targets, noise, classes, seed, "noise", excludes_true=False)
        mask = torch.zeros(count, dtype=torch.bool)
        if isinstance(difficult, Tensor):
            mask = difficult.cpu()
            labels, redrawn = torch.where(mask, targets, labels), redrawn & ~mask
        elif difficult:
            mask[torch.randperm(count, generator=generator(seed, "subset"))[-difficult:]] = True
            drawn, _ = redraw_labels(targets, 1.0, classes, seed, "difficult", excludes_true=False)
            labels, redrawn = torch.where(mask, drawn, labels), redrawn | mask
        labels, targets, redrawn, mask = (
            part.to(device) for part in (labels, targets, redrawn, mask)
        )
        return cls(examples, labels, targets, redrawn, mask, dict(groups or {}))


@dataclass(frozen=True)
class Dataset:
    """A training and a test split, and what a model and a run's provenance need to know of them.

    `classes` is None where the targets are numbers.
    Of a stream `stream` draws the minibatches, (step, count) -> inputs and targets on the device, a
    function of seed and step; `train` is then a fixed sample, which is evaluated and looked at.
    `checksums` has the sha256 of each source file, `remarks` the differences from the official
    files. Images were normalised as (pixel / 255 - mean) / std per channel.
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
