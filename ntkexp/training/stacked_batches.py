"""The minibatches of several networks as one tensor."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ntkexp.data.image_options import Augment
from ntkexp.training.loop import Trainer


class StackedBatches:
    """What M trainers in step would see each, all at once."""

    def __init__(self, trainers: Sequence[Trainer]) -> None:
        self.trainers = trainers
        self._alike = alike(trainers)
        self._epoch = -1
        self._orders: list[Tensor] = []
        self._targets = torch.empty(0)
        self._rooms: dict[int, Tensor] = {}

    def take(self, step: int) -> tuple[Tensor, Tensor]:
        """(M, b, ...) inputs and (M, b) targets of the update after `step` updates.

        Where all see the same inputs these stand in memory once: their stride along M is 0.
        """
        first = self.trainers[0]
        if first.dataset.augment is not Augment.none or first.batches.batch_size is None:
            batches = [trainer.minibatch(step) for trainer in self.trainers]
            return torch.stack([x for x, _ in batches]), torch.stack([y for _, y in batches])
        if (epoch := first.batches.epoch(step)) != self._epoch:
            self._begin(epoch)
        part = first.batches.part(step)
        targets = self._targets[:, part]
        room = self._room(targets.shape[1])
        # Into their places at once: gathering and then stacking would move everything twice. Where
        # all see the same there is one place, and the first fills it.
        for place, trainer, order in zip(room, self.trainers, self._orders, strict=False):
            torch.index_select(trainer.dataset.train.inputs, 0, order[part], out=place)
        return room.expand(len(self.trainers), *room.shape[1:]), targets

    def _begin(self, epoch: int) -> None:
        """Labels are small: those of a whole epoch are put in order at once."""
        self._epoch = epoch
        self._orders = [trainer.batches.order(epoch) for trainer in self.trainers]
        labels = [trainer.dataset.train.targets for trainer in self.trainers]
        self._targets = torch.stack([t[o] for t, o in zip(labels, self._orders, strict=True)])

    def _room(self, examples: int) -> Tensor:
        """Room for inputs, taken once: the last batch of an epoch may be a smaller one."""
        if examples not in self._rooms:
            like = self.trainers[0].dataset.train.inputs
            size = (1 if self._alike else len(self.trainers), examples, *like.shape[1:])
            self._rooms[examples] = like.new_empty(size)
        return self._rooms[examples]


def alike(trainers: Sequence[Trainer]) -> bool:
    """Whether all see the same inputs in the same order, as in sweeps over noise or a rate."""
    first, *others = trainers
    inputs = first.dataset.train.inputs
    return all(
        other.batches == first.batches and torch.equal(other.dataset.train.inputs, inputs)
        for other in others
    )
