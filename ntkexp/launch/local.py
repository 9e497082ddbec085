"""One process a job, on this machine, whose cores and GPUs are divided fairly.

The processes are forked from one that has torch loaded, and watched until all have ended.
"""

from __future__ import annotations

import gc
import json
import os
import selectors
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from omegaconf import DictConfig

from ntkexp.config import Launcher
from ntkexp.execution import threads
from ntkexp.execution.outcome import DONE
from ntkexp.execution.prepare import preload
from ntkexp.launch import child
from ntkexp.launch.child import Slot
from ntkexp.launch.job import TAKEN, Job, Outcome, set_outcome
from ntkexp.machine import cores, gpus_for
from ntkexp.progress import Progress
from ntkexp.results.status import lasting_facts

# How long to wait for runs that another process holds, once nothing else is left to do: jobs of
# a launcher that was just killed need a moment to commit and let go.
PATIENCE_SECONDS = 20.0


@dataclass
class Local(Launcher):
    def run(self, jobs: Sequence[Job], config: DictConfig, done_before: int) -> int:
        return run(jobs, config, done_before)


def run(
    jobs: Sequence[Job],
    config: DictConfig,
    done_before: int = 0,
    patience_seconds: float = PATIENCE_SECONDS,
) -> int:
    """Carry out every job. Returns 128 + n if signal n ended the sweep."""
    kept = [facts["threads"] for job in jobs if "threads" in (facts := lasting_facts(job.folder))]
    room = slots(config.launcher, len(jobs), gpus=gpus_for(config.device), kept=kept)
    # A process with threads of its own could not be forked. numpy starts them when it is loaded,
    # torch when it first computes; each job then takes its number.
    threads.use(1)
    for job in jobs:
        preload(job.plan)
    threads.use(1)
    total = done_before + len(jobs)
    with Progress("sweep", total, start=done_before, shown=config.progress) as progress:
        pool = Pool(jobs, room, progress, config.launcher.fail_fast, patience_seconds)
        pool.run()
    return 128 + pool.signals[0] if pool.signals else DONE


def slots(
    launcher: Launcher, wanted: int, *, gpus: list[str], kept: Sequence[int] = ()
) -> list[Slot]:
    """Room for `launcher.jobs` at once: one a GPU where there are GPUs, else one a core.

    More jobs than GPUs share them in turn; fewer jobs than cores have several threads each. Threads
    times jobs are never more than the cores this process may use. For `launcher.threads`, and for
    the threads that runs were begun with (`kept`), there are fewer jobs at once; OMP_NUM_THREADS
    lowers the threads of a job, but a job has no more than its share. Only a run that was begun
    with more threads than there are cores has more, and then runs alone; and GPUs have the jobs
    that were asked for, with one thread each if there are no more.

    >>> slots(Local(jobs=3, threads=1), 5, gpus=["0", "1"])[2]
    Slot(threads=1, gpu='0')
    """
    room = cores()
    largest = max([min(launcher.threads or 1, room), *kept])
    at_once = max(1, room // largest)
    if gpus:
        at_once = max(at_once, launcher.jobs or len(gpus))
    most = launcher.jobs or len(gpus) or room
    count = max(1, min(wanted, most, at_once))
    if launcher.jobs and count < min(wanted, launcher.jobs):
        print(
            f"{count} of launcher.jobs={launcher.jobs} at once: this process may use {room} "
            f"core{'s' * (room > 1)}, a job has {largest} thread{'s' * (largest > 1)}",
            file=sys.stderr,
        )
    fair = max(1, room // count)
    number = max([min(launcher.threads or threads.exported_threads() or fair, fair), *kept])
    return [Slot(number, gpus[index % len(gpus)] if gpus else None) for index in range(count)]


POLL_SECONDS = 0.1


@dataclass
class Child:
    job: Job
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
    """Runs jobs in `slots`, a process each, and records how each ended."""

    def __init__(
        self,
        jobs: Sequence[Job],
        slots: Sequence[Slot],
        progress: Progress,
        fail_fast: bool,
        patience_seconds: float,
    ) -> None:
        self.jobs, self.waiting = list(jobs), list(jobs)
        # For jobs whose runs another process held: when to try again, and when to give up.
        self._not_before: dict[int, float] = {}
        self._given_up: dict[int, float] = {}
        self.free = list(slots)
        self.progress, self.fail_fast = progress, fail_fast
        self.patience_seconds = patience_seconds
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
        while self.free and not self.stopping and (job := self._next()) is not None:
            self.waiting.remove(job)
            self._start(job, self.free.pop(0))

    def _next(self) -> Job | None:
        now = time.monotonic()
        return next((job for job in self.waiting if self._not_before.get(id(job), 0) <= now), None)

    def _start(self, job: Job, slot: Slot) -> None:
        report, report_end = os.pipe()
        launcher = os.getpid()
        # Until the child has let go of our signal handlers no signal may come through to them.
        signal.pthread_sigmask(signal.SIG_BLOCK, child.STOPS)
        pid = os.fork()
        if pid == 0:
            child.carry_out(job, slot, report_end, launcher)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, child.STOPS)
        os.close(report_end)
        self.running[report] = Child(job, slot, pid)
        self._selector.register(report, selectors.EVENT_READ)
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
        job = ended.job
        if code == TAKEN and self._try_later(job):
            return
        set_outcome(job, code, str(ended.messages.get("message", "")), stopping=self.stopping)
        self.progress.advance(1)
        if self.fail_fast and job.outcome is Outcome.failed:
            self._stop(signal.SIGTERM)

    def _try_later(self, job: Job) -> bool:
        """Put a run that another process holds back among the waiting; False after too long."""
        now = time.monotonic()
        if id(job) not in self._given_up or self.running:
            self._given_up[id(job)] = now + self.patience_seconds
        if self.stopping or now > self._given_up[id(job)]:
            return False
        self._not_before[id(job)] = now + self.patience_seconds / 40
        self.waiting.append(job)
        job.outcome = Outcome.waiting
        return True

    def _show(self) -> None:
        failed = sum(job.outcome is Outcome.failed for job in self.jobs)
        figures: dict[str, object] = {"running": len(self.running), "failed": failed}
        for running in self.running.values():
            if loss := running.messages.get("figures", {}).get("loss"):
                figures[running.job.name] = loss
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
