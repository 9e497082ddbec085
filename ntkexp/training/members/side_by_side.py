"""Many works of one kind in one run, side by side: a column in every table tells them apart."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np
import pandas as pd

from ntkexp.checkpoint import stacked
from ntkexp.errors import Diverged, UserError
from ntkexp.members import Columns
from ntkexp.probes import View
from ntkexp.results.table import Column, ColumnType, Table, int64, string
from ntkexp.training.work import Kept, Work, Written

BURST_SECONDS = 0.2
W = TypeVar("W", bound=Work)

# The types of a column that has a value for each row; a scalar is repeated.
SEVERAL = (list, np.ndarray, pd.Series)

MEMBERS = Table(
    "members",
    "the end of one of many networks in one run: at this step it had finished or diverged",
    {"step": int64("updates that it made"), "outcome": string("`finished` or `diverged`")},
    notes="Every table of such a run begins with the columns in which its networks differ, named "
    "like their keys.",
)
TYPES: Mapping[type, ColumnType] = {bool: "bool", int: "int64", float: "float64", str: "string"}


class Members(Generic[W]):
    """Advances all `works` in step. One that is over, or has diverged, leaves the others alone.

    `columns` has the values in which the works differ, `tables` what they write, with columns
    for these.
    """

    def __init__(
        self, works: Sequence[W], columns: Sequence[Columns], tables: Sequence[Table]
    ) -> None:
        self.works, self.columns = works, columns
        self.tables = {table.name: table for table in tables}
        self.last = max(work.last for work in works)
        self.offers = frozenset.intersection(*(work.offers for work in works))
        self.diverged: dict[int, str] = {}
        # Members with an event of their own at this step, to be looked at whatever the schedule.
        self._events: dict[int, str] = {}
        # Members that have had their last look.
        self._seen_last: set[int] = set()
        # Members whose end is in the table.
        self._reported: set[int] = set()

    @property
    def active(self) -> list[int]:
        """The members that go on."""
        members = range(len(self.works))
        return [m for m in members if m not in self.diverged and not self.works[m].over]

    @property
    def step(self) -> int:
        active = self.active
        return min(self.works[m].step for m in active) if active else self._furthest()

    def _furthest(self) -> int:
        return max(work.step for work in self.works)

    @property
    def over(self) -> bool:
        return not self.active

    @property
    def figures(self) -> Mapping[str, float]:
        latest = [self.works[m].figures for m in self.active]
        losses = [figures["loss"] for figures in latest if "loss" in figures]
        return {"loss": sum(losses) / len(losses)} if losses else {}

    def advance(self, to: int) -> str | None:
        until = time.monotonic() + BURST_SECONDS
        while self.step < to and not self.over:
            self._events = {}
            self._make_steps(self.active, to)
            if self._events:
                return "of members"
            if time.monotonic() >= until:
                break
        return None

    def _make_steps(self, active: Sequence[int], to: int) -> None:
        """A step of every active member, or several up to `to`; what happens goes to `_events`."""
        step = self.step
        for m in active:
            work = self.works[m]
            if work.step > step:  # a run that was cut short had made its step, and not all others'
                continue
            try:
                event = work.advance(work.step + 1)
            except Diverged as error:
                self._end(m, error)
                continue
            if event is not None:
                self._events[m] = event
            elif work.over:
                self._events[m] = "over"

    def _end(self, m: int, error: Diverged) -> None:
        self.diverged[m] = str(error)
        if len(self.diverged) == len(self.works):
            raise error

    @contextmanager
    def looked_at(self, event: str | None, *, scheduled: bool) -> Iterator[Sequence[View]]:
        chosen = [m for m in range(len(self.works)) if self._to_look_at(m, scheduled)]
        with ExitStack() as stack:
            views = []
            for m in chosen:
                member_event = self._events.get(m)
                looking = self.works[m].looked_at(member_event, scheduled=scheduled)
                try:
                    member_views = stack.enter_context(looking)
                except Diverged as error:
                    self._end(m, error)
                    continue
                for view in member_views:
                    views.append(_of_member(view, self.columns[m], m))
                    if view.last:
                        self._seen_last.add(m)
            yield views
        self._events = {}

    def _to_look_at(self, m: int, scheduled: bool) -> bool:
        if m in self.diverged or m in self._seen_last:
            return False
        return scheduled or m in self._events or self.works[m].over

    def rows(self) -> list[Written]:
        """Ordered by step, then by member. The order does not depend on when the rows are asked
        for."""
        rows_of: dict[str, list[Mapping[str, object]]] = {}
        for work, columns in zip(self.works, self.columns, strict=True):
            for table, rows in work.rows():
                rows_of.setdefault(table, []).append({**columns, **rows})
        written = self._ends()
        for table, blocks in rows_of.items():
            # One frame for all: a hundred small ones take as long as the training between them.
            frame = self.tables[table].frame(_joined(blocks)).sort_values("step", kind="stable")
            written.append((table, {str(name): frame[name].to_numpy() for name in frame}))
        return written

    def _ends(self) -> list[Written]:
        going_or_reported = self._reported.union(self.active)
        ended = [m for m in range(len(self.works)) if m not in going_or_reported]
        self._reported |= set(ended)
        return [
            (
                MEMBERS.name,
                {
                    **self.columns[m],
                    "step": self.works[m].step,
                    "outcome": "diverged" if m in self.diverged else "finished",
                },
            )
            for m in ended
        ]

    def state(self) -> dict[str, Any]:
        return {
            "members": [work.state() for work in self.works],
            "diverged": dict(self.diverged),
            "seen_last": sorted(self._seen_last),
            # The key that checkpoints have had from the beginning.
            "told": sorted(self._reported),
        }

    def restore(self, state: dict[str, Any], kept: Kept) -> None:
        for m, (work, work_state) in enumerate(zip(self.works, state["members"], strict=True)):
            work.restore(work_state, partial(_kept_of, kept, m))
        self.diverged = dict(state["diverged"])
        self._seen_last, self._reported = set(state["seen_last"]), set(state["told"])

    def kept_files(self) -> Mapping[str, bytes]:
        return {
            f"{m}.{name}": content
            for m, work in enumerate(self.works)
            for name, content in work.kept_files().items()
        }

    def files(self) -> Mapping[str, bytes]:
        """A file of tensors that all members have alike, once: stacked along a new first dimension.
        Every other file is kept with its member's number before its name."""
        of_each = [work.files() for work in self.works]
        files: dict[str, bytes] = {}
        for name in dict.fromkeys(name for kept in of_each for name in kept):
            contents = {m: kept[name] for m, kept in enumerate(of_each) if name in kept}
            alike = name.endswith(".pt") and len(contents) == len(of_each)
            together = stacked([*contents.values()]) if alike else None
            if together is None:
                files |= {f"{m}.{name}": content for m, content in contents.items()}
            else:
                files[name] = together
        return files


def _joined(blocks: Sequence[Mapping[str, object]]) -> dict[str, list[object]]:
    """The columns of all blocks of rows, one block after the other; scalars are repeated."""
    joined: dict[str, list[object]] = {name: [] for name in blocks[0]}
    for block in blocks:
        lengths = {len(values) for values in block.values() if isinstance(values, SEVERAL)}
        length = max(lengths, default=1)
        for name, values in block.items():
            joined[name].extend(values if isinstance(values, SEVERAL) else [values] * length)
    return joined


def _kept_of(kept: Kept, member: int, name: str) -> bytes:
    return kept(f"{member}.{name}")


def _of_member(view: View, columns: Columns, member: int) -> View:
    view.columns, view.member = {**columns, **view.columns}, member
    return view


def tables_of_members(tables: Sequence[Table], columns: Columns) -> list[Table]:
    """The tables with a column for each value in which the members differ."""
    types = {
        name: Column(TYPES[type(value)], "in which the networks differ")
        for name, value in columns.items()
    }
    for table in tables:
        for name in types.keys() & table.columns.keys():
            raise UserError(f"members.{name}: the table {table.name} has a column of that name")
    return [replace(table, columns={**types, **table.columns}) for table in (*tables, MEMBERS)]
