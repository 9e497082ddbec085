"""The examples of each step, a function of the seed and the step: resuming needs no state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor

from ntkexp.machine import sent
from ntkexp.seeds import generator

CROP_PADDING = 4
NEVER = 1 << 62
Draw = Callable[[int, int], tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class Batches:
    """Minibatches of `examples` training examples, in a new random order every epoch.

    Every example is seen once an epoch: where batch_size does not divide their number, the last
    batch of an epoch is smaller. `drop_last` leaves it out where there are others; the examples in
    it wait for an epoch that has them earlier. `batch_size=None` is full-batch descent.

    >>> batches = Batches(examples=5, batch_size=2, seed=0)
    >>> batches.steps_per_epoch, [len(batches.indices(step)) for step in range(3)]
    (3, [2, 2, 1])
    """

    examples: int
    batch_size: int | None
    seed: int
    device: torch.device | str = "cpu"
    drop_last: bool = False
    _kept: dict[int, Tensor] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def steps_per_epoch(self) -> int:
        if self.batch_size is None:
            return 1
        whole, left = divmod(self.examples, self.batch_size)
        return max(whole, 1) if self.drop_last else whole + (left > 0)

    @property
    def are_full(self) -> bool:
        """True if every batch has all examples."""
        return self.batch_size is None or self.batch_size >= self.examples

    def epoch(self, step: int) -> int:
        """The epoch, from 0, that the update after `step` updates belongs to."""
        return step // self.steps_per_epoch

    def indices(self, step: int) -> Tensor:
        """(b,) int64 on the device: the examples of the update after `step` updates."""
        if self.batch_size is None:
            return torch.arange(self.examples, device=self.device)
        return self.order(self.epoch(step))[self.part(step)]

    def part(self, step: int) -> slice:
        """The part of its epoch's order that the update after `step` updates sees."""
        size = self.batch_size or self.examples
        first = step % self.steps_per_epoch * size
        return slice(first, first + size)

    def order(self, epoch: int) -> Tensor:
        """The permutation of an epoch, on the device; the latest one is kept."""
        if epoch not in self._kept:
            self._kept.clear()
            drawn = torch.randperm(self.examples, generator=generator(self.seed, "batches", epoch))
            self._kept[epoch] = sent(drawn, self.device)
        return self._kept[epoch]

    def take(self, step: int, *tensors: Tensor) -> tuple[Tensor, ...]:
        """The rows of each tensor that make the batch of `step`; full batch copies nothing."""
        if self.batch_size is None:
            return tensors
        indices = self.indices(step)
        return tuple(tensor.index_select(0, indices) for tensor in tensors)


@dataclass(frozen=True)
class Endless:
    """Minibatches of a stream: every step draws new examples, there are no epochs.

    `draw(step, count)` gives inputs and targets, a function of seed and step.
    """

    draw: Draw
    batch_size: int
    examples: int = 0
    are_full: ClassVar = False

    @property
    def steps_per_epoch(self) -> int:
        return NEVER

    def epoch(self, step: int) -> int:
        return 0

    def indices(self, step: int) -> Tensor:
        """Empty: examples of a stream have no numbers among the training examples."""
        return torch.empty(0, dtype=torch.int64)

    def take(self, step: int, *tensors: Tensor) -> tuple[Tensor, ...]:
        return self.draw(step, self.batch_size)


def crop_flip(images: Tensor, pad_value: Tensor, seed: int, step: int) -> Tensor:
    """Each image (n, C, H, W) shifted by up to 4 pixels and mirrored with probability 1/2.

    The crop of an image padded by 4 pixels of `pad_value` (C,), which is what black became in
    normalisation; so it is the usual crop and flip of the pixels. The draws depend on seed and
    step alone, whatever the device.
    """
    count, channels, height, width = images.shape
    device, margin = images.device, 2 * CROP_PADDING
    stream = generator(seed, "augment", step)
    shifts = torch.randint(margin + 1, (2, count), generator=stream)
    mirrored = torch.randint(2, (1, count), generator=stream)
    down, right, mirrored = sent(torch.cat([shifts, mirrored]), device)

    padded = pad_value.view(1, channels, 1, 1).repeat(count, 1, height + margin, width + margin)
    inner = slice(CROP_PADDING, -CROP_PADDING)
    padded[:, :, inner, inner] = images
    windows = padded.unfold(2, height, 1).unfold(3, width, 1)  # (n, C, 9, 9, H, W), a view
    crops = windows[torch.arange(count, device=device), :, down, right]
    return torch.where(mirrored.bool().view(-1, 1, 1, 1), crops.flip(3), crops)
