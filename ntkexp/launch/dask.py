"""Slices of runs for the workers of a Dask cluster that the user started: docs/cluster.md."""

from __future__ import annotations

import logging
import time
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from omegaconf import DictConfig

from ntkexp.config import Launcher
from ntkexp.errors import UserError
from ntkexp.execution.outcome import DONE
from ntkexp.launch import slices
from ntkexp.launch.job import Job, Outcome, look_up
from ntkexp.launch.local import PATIENCE_SECONDS
from ntkexp.options import count, option
from ntkexp.progress import Progress
from ntkexp.results import lock

# A slice takes some 3 seconds to start, more on a busy machine: it is to last so long, and so many
# times longer, but is never less than one run.
SLICE_SECONDS, STARTS = 60.0, 20
# So that no worker waits long for the last one, or loses much.
SLICES_A_WORKER = 4
# How often a run is sent again whose workers were lost, while no run of its slice finishes.
TRIES = 3
# When a run that another process holds is sent again.
LATER_SECONDS = 30.0
LOOK_SECONDS = 1.0
CONNECT_SECONDS = 10.0


@dataclass
class Dask(Launcher):
    address: str | None = option(
        None, about="of a scheduler, tcp://HOST:8786, or its file; null: workers on this machine"
    )
    workers: int = option(2, count("workers", most=1000), "on this machine, without an address")
    runs: int | None = option(None, count("runs", null=""), "of a slice; null: a minute's work")

    def memory_bytes(self) -> int | None:
        return None

    def run(self, jobs: Sequence[Job], config: DictConfig, done_before: int) -> int:
        """Send the jobs and wait for them. Returns 130 if the user did not wait."""
        total = done_before + len(jobs)
        with self._client() as client:
            config = slices.prepared(jobs, config)
            with Progress("sweep", total, start=done_before, shown=config.progress) as progress:
                try:
                    Dispatch(self, client, jobs, config, progress).go()
                except KeyboardInterrupt:
                    print("slices that have begun go on; the same command does what is left")
                    return 130
        return DONE

    @contextmanager
    def _client(self) -> Iterator[Any]:
        try:
            from distributed import Client, LocalCluster
        except ImportError as error:
            raise UserError("launcher=dask: needs pip install 'ntkexp[dask]'") from error
        # What became of the runs, and of the scheduler, is told by us.
        for name in ("distributed", "distributed.client"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        if self.address is None:
            with (
                LocalCluster(
                    self.workers, 1, silence_logs="CRITICAL", dashboard_address=None
                ) as here,
                Client(here) as client,
            ):
                yield client
            return
        where = "scheduler_file" if Path(self.address).is_file() else "address"
        try:
            client = Client(**{where: self.address}, timeout=CONNECT_SECONDS)
        except (OSError, ValueError) as error:
            reason = " ".join(str(error).split())
            raise UserError(
                f"launcher.address={self.address}: {reason}; expected tcp://HOST:8786, or the file "
                "of dask scheduler --scheduler-file, while it runs"
            ) from error
        with client:
            yield client


class Dispatch:
    """Sends the runs of a sweep, two slices a worker at a time, until all have ended."""

    def __init__(
        self,
        launcher: Dask,
        client: Any,
        jobs: Sequence[Job],
        config: DictConfig,
        progress: Progress,
    ) -> None:
        self.launcher, self.client, self.config = launcher, client, config
        self.progress, self.waiting = progress, deque(jobs)
        self.sent: dict[Any, list[Job]] = {}
        self._answered: SimpleQueue[Any] = SimpleQueue()
        self._losses: dict[int, int] = defaultdict(int)
        # Runs that another process holds, each with the time when it is sent again; and when each
        # is given up.
        self.held: list[tuple[float, Job]] = []
        self._given_up: dict[int, float] = {}
        # Of the slices so far; in a round every place of a machine has one run.
        self._seconds, self._rounds, self._start_seconds = 0.0, 0, 0.0
        self._stopping = False

    def go(self) -> None:
        if not self._workers():
            print("launcher=dask: waiting for the first worker")
        # Machines are taken to be alike.
        asked = self.client.submit(slices.room, self.launcher, self.config.device, pure=False)
        try:
            self.room: int = asked.result()
        except Exception:
            self._refuse_lost_scheduler()
            raise
        while self.sent or ((self.waiting or self.held) and not self._stopping):
            self._send()
            self._listen()
            self.progress.advance(0, sent=sum(map(len, self.sent.values())))

    def _send(self) -> None:
        now, workers = time.monotonic(), self._workers()
        self.waiting += [job for due, job in self.held if due <= now]
        self.held = [(due, job) for due, job in self.held if due > now]
        while self.waiting and len(self.sent) < 2 * workers and not self._stopping:
            length = min(len(self.waiting), self.length(len(self.waiting), workers))
            part = [self.waiting.popleft() for _ in range(length)]
            work = slices.packed(part, self.config, PATIENCE_SECONDS)
            future = self.client.submit(slices.carry_out, work, pure=False)
            self.sent[future] = part
            future.add_done_callback(self._answered.put)

    def length(self, left: int, workers: int) -> int:
        """The runs of the next slice, of so many that are left."""
        if self.launcher.runs:
            return self.launcher.runs
        filled = min(self.room, -(-left // workers))
        if not self._rounds:
            return filled
        wanted = max(SLICE_SECONDS, STARTS * self._start_seconds)
        rounds = int(wanted * self._rounds / self._seconds)
        return max(filled, min(self.room * rounds, left // (SLICES_A_WORKER * workers)))

    def note(self, seconds: float, start_seconds: float, runs: int) -> None:
        """So long took a slice of so many runs, after so long a start."""
        self._start_seconds = start_seconds
        self._seconds += seconds
        self._rounds += -(-runs // self.room)

    def _listen(self) -> None:
        try:
            future = self._answered.get(timeout=LOOK_SECONDS)
        except Empty:
            self._refuse_lost_scheduler()
            return
        jobs = self.sent.pop(future)
        try:
            answer = slices.unpacked(future.result())
        except Exception as error:  # of Dask, of the worker, of the process of the slice
            self._refuse_lost_scheduler()
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
            for job in jobs:
                look_up(job, retry_failed=self.launcher.retry_failed)
                if job.outcome is Outcome.already:
                    job.outcome = Outcome.finished
        else:
            reason = "was told to stop"
            slices.settle(jobs, answer)
            self.note(answer.seconds, answer.start_seconds, len(jobs))
        finished = any(job.outcome is Outcome.finished for job in jobs)
        for job in jobs:
            if job.outcome is Outcome.elsewhere:
                self._send_later(job)
            elif job.outcome in (Outcome.waiting, Outcome.running, Outcome.interrupted):
                self._send_again(job, reason, finished)
            if job.outcome is not Outcome.waiting:
                self.progress.advance(1)
        if self.launcher.fail_fast and any(job.outcome is Outcome.failed for job in jobs):
            self._stopping = True

    def _send_again(self, job: Job, reason: str, finished: bool) -> None:
        """After a lost worker: Dask itself tries only so often, whatever was done meanwhile."""
        self._losses[id(job)] = 0 if finished else self._losses[id(job)] + 1
        if self._losses[id(job)] > TRIES:
            job.fail(f"sent {self._losses[id(job)]} times in vain: {reason}")
        else:
            job.outcome = Outcome.waiting
            self.waiting.append(job)

    def _send_later(self, job: Job) -> None:
        """A life on a machine that was lost looks alive until its lock goes stale."""
        now = time.monotonic()
        if now < self._given_up.setdefault(id(job), now + lock.SILENT_SECONDS + LATER_SECONDS):
            job.outcome = Outcome.waiting
            self.held.append((now + LATER_SECONDS, job))

    def _workers(self) -> int:
        """The slices that the cluster carries out at once."""
        try:
            return sum(self.client.nthreads().values())
        except OSError as error:
            raise self._gone() from error

    def _refuse_lost_scheduler(self) -> None:
        if self.client.status != "running" or any(one.status == "lost" for one in self.sent):
            raise self._gone()

    def _gone(self) -> UserError:
        return UserError(
            f"launcher=dask: the scheduler {self.launcher.address or ''} is gone; the same command "
            "goes on, once there is one"
        )
