"""Networks of one architecture that train in step as one stack."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, TypeAlias

import torch
from torch import Tensor

from ntkexp.data.batches import Batches, Endless
from ntkexp.errors import Diverged
from ntkexp.members import Columns
from ntkexp.optim import Schedule
from ntkexp.optim.update import WeightUpdate
from ntkexp.probes import View
from ntkexp.results.table import Table
from ntkexp.training.factors.learner import FactorLearner
from ntkexp.training.factors.stack import FactorStack
from ntkexp.training.function_space.learner import FunctionLearner
from ntkexp.training.function_space.stack import FunctionStack
from ntkexp.training.members.side_by_side import Members
from ntkexp.training.members.stack import Stack, StackedMLP, is_mlp
from ntkexp.training.members.stackable import (
    needs_every_update,
    network_in_stack,
    refuse_unlike,
    scaled_of,
)
from ntkexp.training.recorder import AT_ONCE
from ntkexp.training.supervised import Supervised
from ntkexp.training.work import Written
from ntkexp.transforms.alpha_scale import Heads

AnyStack: TypeAlias = Stack | FunctionStack | FactorStack


class StackedMembers(Members[Supervised]):
    """Each member is a `Supervised` of its own, with its data, batches and probes: it looks,
    evaluates and ends as it would alone. Only the updates are made together."""

    def __init__(
        self, works: Sequence[Supervised], columns: Sequence[Columns], tables: Sequence[Table]
    ) -> None:
        super().__init__(works, columns, tables)
        refuse_unlike(works)
        self._stacked_members: list[int] = []
        self._stack: AnyStack | None = None
        self._batches: StackedBatches | None = None
        self._heads: Heads | None = None
        self._rates: Sequence[float] | None = None
        self._constant_rates = self._in_bursts = False
        self._waiting: list[tuple[tuple[int, int, Sequence[float]], Tensor, Tensor]] = []

    def _make_steps(self, active: Sequence[int], to: int) -> None:
        # A member may be found fitted here, or to have diverged.
        going = [m for m in active if self._goes_on(m)]
        if not going:
            return
        if going != self._stacked_members:
            self._restack(going)
        works = [self.works[m] for m in going]
        if self._in_bursts:
            to_report = self._burst(works, to)
        else:
            self._update(works, works[0].step, watched=True)
            to_report = any(work.waits_for_a_loss for work in works)
        if to_report or len(self._waiting) >= AT_ONCE:
            self._fetch()
        for m, work in zip(going, works, strict=True):
            if m in self.diverged:
                continue
            if to_report and (event := work.crossing()) is not None:
                self._events[m] = event
            elif work.over:
                self._events[m] = "over"

    def _update(self, works: Sequence[Supervised], step: int, *, watched: bool) -> None:
        """Make one update of all networks; its losses go to `_waiting`."""
        assert self._stack is not None
        if self._rates is None or not self._constant_rates:
            self._rates = [work.lr(step) for work in works]
        lrs = self._rates
        outputs, targets, loss = self._compute(step)
        if watched:
            for m, work, lr in zip(self._stacked_members, works, lrs, strict=True):
                try:
                    work.before_update(lr)
                except Diverged as error:
                    self._end(m, error)
        self._stack.apply(lrs)
        accuracy = torch.full_like(loss, torch.nan, dtype=torch.float64)
        if works[0].recorder.keeps(step):
            hits = works[0].objective.correct(outputs.flatten(0, 1), targets.flatten(0, 1))
            accuracy = hits.double().view(outputs.shape[:2]).mean(1)
        self._waiting.append(((step, works[0].batches.epoch(step), lrs), loss, accuracy))
        for work in works:
            work.step += 1

    def _burst(self, works: Sequence[Supervised], to: int) -> bool:
        """Make updates up to `to`, or to the first member's end, or until a member has something to
        report; True if one has.

        In function space an update takes less time than asking a hundred members for their state.
        So their losses alone are looked at, all at once.
        """
        waited_for = torch.tensor([work.waited_for for work in works], dtype=torch.float64)
        end = min(to, *(work.last for work in works))
        for _ in range(min(end - works[0].step, AT_ONCE)):
            self._update(works, works[0].step, watched=False)
            loss = self._waiting[-1][1].double().cpu()
            if bool(((loss < waited_for) | ~loss.isfinite()).any()):
                return True
        return False

    def _compute(self, step: int) -> tuple[Tensor, Tensor, Tensor]:
        """Outputs, targets and mean losses of all minibatches, whose gradients are taken in."""
        assert self._batches is not None
        if isinstance(self._stack, FunctionStack):
            full = self._batches.works[0].batches.batch_size is None
            targets = self._batches.targets(step)
            numbers = None if full else self._batches.numbers(step)
            outputs, loss = self._stack.compute(numbers, targets)
            return outputs, targets, loss
        if isinstance(self._stack, FactorStack):
            targets = self._batches.targets(step)
            outputs, loss = self._stack.compute(
                self._batches.works[0].batches.indices(step), targets
            )
            return outputs, targets, loss
        assert self._stack is not None
        inputs, targets = self._batches.take(step)
        head = None if self._heads is None else self._heads.at(self._batches.numbers(step))
        outputs, loss = self._stack.compute(inputs, targets, head)
        return outputs, targets, loss

    def _goes_on(self, m: int) -> bool:
        """True if a member has another update to make, after it has evaluated itself where that is
        due."""
        work = self.works[m]
        if not work.may_evaluate:
            return True
        self._fetch()
        try:
            if m not in self.diverged and not work.found_fitted():
                return True
        except Diverged as error:
            self._end(m, error)
            return False
        if m not in self.diverged:
            self._events[m] = "over"
        return False

    def _restack(self, going: list[int]) -> None:
        self._fetch()
        if self._stack is not None:
            self._stack.release()
        self._stacked_members = going
        works = [self.works[m] for m in going]
        self._batches = StackedBatches(works)
        self._stack, self._heads = self._stacked(works)
        self._rates = None
        self._constant_rates = all(
            work.config.optim.schedule is Schedule.constant
            and type(work.update).rate is WeightUpdate.rate
            for work in works
        )
        self._in_bursts = isinstance(self._stack, FunctionStack) and not any(
            needs_every_update(work) for work in works
        )

    @staticmethod
    def _stacked(works: Sequence[Supervised]) -> tuple[AnyStack, Heads | None]:
        objective = works[0].objective
        learners = [work.learner for work in works]
        in_function_space = [
            learner for learner in learners if isinstance(learner, FunctionLearner)
        ]
        if in_function_space:
            return FunctionStack(
                [learner.coefficients for learner in in_function_space], objective
            ), None
        on_factors = [learner for learner in learners if isinstance(learner, FactorLearner)]
        if on_factors:
            return FactorStack(on_factors, objective), None
        scaled = [scaling for work in works if (scaling := scaled_of(work)) is not None]
        models = [network_in_stack(work) for work in works]
        kind = StackedMLP if all(map(is_mlp, models)) else Stack
        stack = kind(models, [work.update for work in works], objective)
        return stack, Heads(scaled) if scaled else None

    def _fetch(self) -> None:
        """Hand every member the figures of its minibatches; those that diverged end here."""
        if not self._waiting:
            return
        losses = torch.stack([loss for _, loss, _ in self._waiting], dim=1).double().tolist()
        accuracies = torch.stack([hits for _, _, hits in self._waiting], dim=1).tolist()
        updates = [facts for facts, _, _ in self._waiting]
        self._waiting.clear()
        for row, m in enumerate(self._stacked_members):
            updates_of_member = [(step, epoch, lrs[row]) for step, epoch, lrs in updates]
            try:
                self.works[m].recorder.take(updates_of_member, losses[row], accuracies[row])
            except Diverged as error:
                # However late its loss was fetched.
                self.works[m].step = error.step + 1
                self._end(m, error)

    @contextmanager
    def looked_at(self, event: str | None, *, scheduled: bool) -> Iterator[Sequence[View]]:
        self._fetch()
        with super().looked_at(event, scheduled=scheduled) as views:
            yield views

    def rows(self) -> list[Written]:
        self._fetch()
        return super().rows()

    def state(self) -> dict[str, Any]:
        self._fetch()
        return super().state()

    def files(self) -> Mapping[str, bytes]:
        if self._stack is not None:
            self._stack.release()
            self._stack, self._stacked_members = None, []
        return super().files()


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
        of_works = (work.batches for work in self.works)
        self._orders = [b.order(epoch) for b in of_works if isinstance(b, Batches)]
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
    """True if all see the same inputs in the same order, as in sweeps over noise or a rate."""
    first, *others = works
    inputs = first.dataset.train.inputs
    return all(
        other.batches == first.batches and torch.equal(other.dataset.train.inputs, inputs)
        for other in others
    )
