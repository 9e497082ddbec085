"""The minibatches of a stack of learners: what each of them would see alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import torch
from torch import Tensor

from ntkexp.data.batches import Batches, Endless
from ntkexp.training.learners.learner import Learner


class StackedBatches:
    """The minibatches that M learners see in the same step, as one tensor."""

    def __init__(self, learners: Sequence[Learner]) -> None:
        self.learners = learners
        self._alike = alike(learners)
        self._epoch = -1
        self._orders: list[Tensor] = []
        self._targets = torch.empty(0)
        self._rooms: dict[int, Tensor] = {}

    @property
    def full(self) -> bool:
        """True if every minibatch has all examples."""
        return self.learners[0].batches.batch_size is None

    def take(self, step: int) -> tuple[Tensor, Tensor]:
        """(M, b, ...) inputs and (M, b) targets of the update after `step` updates.

        Where all networks see the same inputs, these are in memory once: their stride along M is 0.
        """
        first = self.learners[0]
        batches = first.batches
        if (
            isinstance(batches, Endless)
            or batches.batch_size is None
            or not first.dataset.sees_examples_as_they_are
        ):
            drawn = [learner.minibatch(step) for learner in self.learners]
            return torch.stack([x for x, _ in drawn]), torch.stack([y for _, y in drawn])
        if (epoch := batches.epoch(step)) != self._epoch:
            self._begin(epoch)
        part = batches.part(step)
        targets = self._targets[:, part]
        room = self._room(targets.shape[1])
        # Straight into the buffer: gathering and then stacking would move everything twice.
        # Where all networks see the same inputs there is one place, and the first fills it.
        for place, learner, order in zip(room, self.learners, self._orders, strict=False):
            torch.index_select(learner.dataset.train.inputs, 0, order[part], out=place)
        return room.expand(len(self.learners), *room.shape[1:]), targets

    def targets(self, step: int) -> Tensor:
        """(M, b): the targets alone."""
        if self.full:
            return self._all_targets
        taken = (x.batches.take(step, x.dataset.train.targets)[0] for x in self.learners)
        return torch.stack([*taken])

    @cached_property
    def _all_targets(self) -> Tensor:
        return torch.stack([learner.dataset.train.targets for learner in self.learners])

    def numbers(self, step: int) -> Tensor:
        """(M, b): which training examples these are."""
        return torch.stack([learner.batches.indices(step) for learner in self.learners])

    def _begin(self, epoch: int) -> None:
        """Put the labels of a whole epoch in order at once: labels are small."""
        self._epoch = epoch
        of_learners = (learner.batches for learner in self.learners)
        self._orders = [b.order(epoch) for b in of_learners if isinstance(b, Batches)]
        labels = [learner.dataset.train.targets for learner in self.learners]
        self._targets = torch.stack([t[o] for t, o in zip(labels, self._orders, strict=True)])

    def _room(self, examples: int) -> Tensor:
        """A buffer for inputs, allocated once. The last batch of an epoch may be smaller."""
        if examples not in self._rooms:
            like = self.learners[0].dataset.train.inputs
            size = (1 if self._alike else len(self.learners), examples, *like.shape[1:])
            self._rooms[examples] = like.new_empty(size)
        return self._rooms[examples]


def alike(learners: Sequence[Learner]) -> bool:
    """True if all see the same inputs in the same order, as in sweeps over noise or a rate."""
    first, *others = learners
    inputs = first.dataset.train.inputs
    return all(
        other.batches == first.batches and torch.equal(other.dataset.train.inputs, inputs)
        for other in others
    )
