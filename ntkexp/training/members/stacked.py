"""Networks of one architecture that train in step as one stack."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

import torch
from torch import Tensor

from ntkexp import data
from ntkexp.config import TrainConfig
from ntkexp.errors import Diverged
from ntkexp.members import Columns
from ntkexp.optim import Schedule
from ntkexp.optim.update import WeightUpdate
from ntkexp.probes import View
from ntkexp.results.table import Table
from ntkexp.training import experiment
from ntkexp.training.learners.learner import Stack
from ntkexp.training.members.side_by_side import Members, tables_of_members
from ntkexp.training.members.stackable import needs_every_update, refuse_unlike
from ntkexp.training.prepared import Ready
from ntkexp.training.recorder import AT_ONCE
from ntkexp.training.schedule import looks_of
from ntkexp.training.supervised import Supervised
from ntkexp.training.work import Written


def prepare(config: TrainConfig, members: Sequence[tuple[Columns, TrainConfig]]) -> Ready:
    """Many networks in one run; what they have in common lies in memory once."""
    columns = [values for values, _ in members]
    with data.sharing():
        singles = [experiment.prepare(member, one_of_many=True) for _, member in members]
    written = tables_of_members(singles[0].tables, columns[0])
    works = [cast(Supervised, single.work) for single in singles]
    work = StackedMembers(works, columns, written)
    return replace(
        singles[0],
        work=work,
        tables=written,
        looks=looks_of(config.probing, work.last),
        probes=[probes for single in singles for probes in single.probes],
        check=next((single.check for single in singles if single.check), False),
        label=f"{len(members)} networks",
        limit=singles[0].limit if len({single.limit for single in singles}) == 1 else "",
    )


class StackedMembers(Members[Supervised]):
    """Each member is a `Supervised` of its own, with its data, batches and probes: it looks,
    evaluates and ends as it would alone. Only the updates are made together."""

    def __init__(
        self, works: Sequence[Supervised], columns: Sequence[Columns], tables: Sequence[Table]
    ) -> None:
        super().__init__(works, columns, tables)
        refuse_unlike(works)
        self._stacked_members: list[int] = []
        self._stack: Stack | None = None
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
        outputs, targets, loss = self._stack.compute(step)
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
        self._stack = works[0].learner.stack([work.learner for work in works])
        self._rates = None
        self._constant_rates = all(
            work.config.optim.schedule is Schedule.constant
            and type(work.update).rate is WeightUpdate.rate
            for work in works
        )
        self._in_bursts = self._stack.bursts and not any(needs_every_update(work) for work in works)

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
