"""The minibatches of several networks as one tensor."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import torch
from torch import Tensor

from ntkexp.data.batches import Batches, Endless
from ntkexp.training.supervised import Supervised


class StackedBatches:
    """The minibatches that M works see in the same step, as one tensor."""

    def __init__(self, works: Sequence[Supervised]) -> None:
        self.works = works
        self._alike = alike(works)
        self._epoch = -1
        self._orders: list[Tensor] = []
        self._targets = torch.empty(0)
        self._rooms: dict[int, Tensor] = {}

    def take(self, step: int) -> tuple[Tensor, Tensor]:
        """(M, b, ...) inputs and (M, b) targets of the update after `step` updates.

        Where all networks see the same inputs, these are in memory once: their stride along M is 0.
        """
        first = self.works[0]
        batches = first.batches
        if (
            isinstance(batches, Endless)
            or batches.batch_size is None
            or not first.dataset.sees_examples_as_they_are
        ):
            drawn = [work.minibatch(step) for work in self.works]
            return torch.stack([x for x, _ in drawn]), torch.stack([y for _, y in drawn])
        if (epoch := batches.epoch(step)) != self._epoch:
            self._begin(epoch)
        part = batches.part(step)
        targets = self._targets[:, part]
        room = self._room(targets.shape[1])
        # Straight into the buffer: gathering and then stacking would move everything twice.
        # Where all networks see the same inputs there is one place, and the first fills it.
        for place, work, order in zip(room, self.works, self._orders, strict=False):
            torch.index_select(work.dataset.train.inputs, 0, order[part], out=place)
        return room.expand(len(self.works), *room.shape[1:]), targets

    def targets(self, step: int) -> Tensor:
        """(M, b): the targets alone."""
        if self.works[0].batches.batch_size is None:
            return self._all_targets
        taken = (w.batches.take(step, w.dataset.train.targets)[0] for w in self.works)
        return torch.stack([*taken])

    @cached_property
    def _all_targets(self) -> Tensor:
        return torch.stack([work.dataset.train.targets for work in self.works])

    def numbers(self, step: int) -> Tensor:
        """(M, b): which training examples these are."""
        return torch.stack([work.batches.indices(step) for work in self.works])

    def _begin(self, epoch: int) -> None:
        """Put the labels of a whole epoch in order at once: labels are small."""
        self._epoch = epoch
        orders = (work.batches for work in self.works)
        self._orders = [one.order(epoch) for one in orders if isinstance(one, Batches)]
        labels = [work.dataset.train.targets for work in self.works]
        self._targets = torch.stack([t[o] for t, o in zip(labels, self._orders, strict=True)])

    def _room(self, examples: int) -> Tensor:
        """A buffer for inputs, allocated once. The last batch of an epoch may be smaller."""
        if examples not in self._rooms:
            like = self.works[0].dataset.train.inputs
            size = (1 if self._alike else len(self.works), examples, *like.shape[1:])
            self._rooms[examples] = like.new_empty(size)
        return self._rooms[examples]


def alike(works: Sequence[Supervised]) -> bool:
    """Whether all see the same inputs in the same order, as in sweeps over noise or a rate."""
    first, *others = works
    inputs = first.dataset.train.inputs
    return all(
        other.batches == first.batches and torch.equal(other.dataset.train.inputs, inputs)
        for other in others
    )
