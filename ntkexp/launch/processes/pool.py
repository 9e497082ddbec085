"""Processes side by side: forked from one that has torch loaded, watched until all have ended."""

from __future__ import annotations

import gc
import json
import os
import selectors
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from ntkexp.launch.job import Job, Outcome
from ntkexp.launch.processes import child
from ntkexp.launch.processes.outcomes import set_outcome
from ntkexp.launch.processes.slots import Slot
from ntkexp.progress import Progress

POLL_SECONDS = 0.1
# How long to wait for runs that another process holds, once nothing else is left to do: jobs of
# a launcher that was just killed need a moment to commit and let go.
PATIENCE_SECONDS = 20.0


@dataclass
class Unit:
    """What one process does for one job or several."""

    jobs: Sequence[Job]
    work: Callable[[], int]
    not_before: float = 0.0
    given_up: float | None = None


@dataclass
class Child:
    unit: Unit
    slot: Slot
    pid: int
    unread: bytes = b""
    messages: dict[str, Any] = field(default_factory=dict)

    def read(self, report: int) -> bool:
        """Take in what the process has told; False when it will tell no more."""
        data = os.read(report, 1 << 16)
        *lines, self.unread = (self.unread + data).split(b"\n")
        for line in lines:
            self.messages |= json.loads(line)
        return bool(data)


class Pool:
    """Runs units in `slots`, and records how the jobs of each ended when its process has ended."""

    def __init__(
        self, units: Sequence[Unit], slots: Sequence[Slot], progress: Progress, *, fail_fast: bool
    ) -> None:
        self.jobs = [job for unit in units for job in unit.jobs]
        self.waiting = list(units)
        self.free = list(slots)
        self.progress, self.fail_fast = progress, fail_fast
        self.running: dict[int, Child] = {}
        self.stopping = False
        self.signals: list[int] = []
        self._selector = selectors.DefaultSelector()

    def run(self) -> None:
        # Objects that are there now never move again: forked children share their memory.
        gc.freeze()
        with self._signals():
            while self.running or (self.waiting and not self.stopping):
                self._start_due()
                self._listen()
                self._show()

    def _start_due(self) -> None:
        while self.free and not self.stopping and (unit := self._next()) is not None:
            self.waiting.remove(unit)
            self._start(unit, self.free.pop(0))

    def _next(self) -> Unit | None:
        now = time.monotonic()
        return next((unit for unit in self.waiting if unit.not_before <= now), None)

    def _start(self, unit: Unit, slot: Slot) -> None:
        ours, theirs = os.pipe()
        launcher = os.getpid()
        # Until the child has let go of our signal handlers no signal may come through to them.
        signal.pthread_sigmask(signal.SIG_BLOCK, child.STOPS)
        pid = os.fork()
        if pid == 0:
            child.live(unit.work, unit.jobs[0].folder, slot, theirs, launcher)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, child.STOPS)
        os.close(theirs)
        self.running[ours] = Child(unit, slot, pid)
        self._selector.register(ours, selectors.EVENT_READ)
        for job in unit.jobs:
            job.outcome = Outcome.running

    def _listen(self) -> None:
        if not self.running:
            time.sleep(POLL_SECONDS)
        for key, _ in self._selector.select(POLL_SECONDS):
            if not self.running[key.fd].read(key.fd):
                self._end(key.fd)

    def _end(self, report: int) -> None:
        ended = self.running.pop(report)
        self._selector.unregister(report)
        os.close(report)
        _, status = os.waitpid(ended.pid, 0)
        self.free.append(ended.slot)
        code = os.waitstatus_to_exitcode(status)
        if code == child.TAKEN and self._try_later(ended.unit):
            return
        for job in ended.unit.jobs:
            set_outcome(job, code, str(ended.messages.get("message", "")), stopping=self.stopping)
            self.progress.advance(1)
        if self.fail_fast and any(job.outcome is Outcome.failed for job in ended.unit.jobs):
            self._stop(signal.SIGTERM)

    def _try_later(self, unit: Unit) -> bool:
        """Whether to try a run later that another process holds now."""
        now = time.monotonic()
        if unit.given_up is None or self.running:
            unit.given_up = now + PATIENCE_SECONDS
        if self.stopping or now > unit.given_up:
            return False
        unit.not_before = now + 0.5
        self.waiting.append(unit)
        for job in unit.jobs:
            job.outcome = Outcome.waiting
        return True

    def _show(self) -> None:
        failed = sum(job.outcome is Outcome.failed for job in self.jobs)
        figures: dict[str, object] = {"running": len(self.running), "failed": failed}
        for running in self.running.values():
            if loss := running.messages.get("figures", {}).get("loss"):
                figures[running.unit.jobs[0].name] = loss
        self.progress.advance(0, **figures)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Pass SIGINT and SIGTERM on to the jobs; the third time, kill them."""

        def ask(number: int, frame: FrameType | None) -> None:
            self.signals.append(number)
            self._stop(signal.SIGKILL if len(self.signals) > 2 else signal.Signals(number))

        before = {number: signal.signal(number, ask) for number in child.STOPS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _stop(self, number: signal.Signals) -> None:
        self.stopping = True
        for running in list(self.running.values()):
            os.kill(running.pid, number)
