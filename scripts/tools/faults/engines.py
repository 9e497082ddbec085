"""A Dask cluster for the whole campaign, parts of which die or stop while it has a sweep."""

from __future__ import annotations

import atexit
import os
import random
import signal
import time
from contextlib import ExitStack
from pathlib import Path

from ntkexp.scripts.tools.clusters import Cluster, children, cluster, until
from ntkexp.scripts.tools.faults.lives import Life

# What may be struck -> the exit codes that the sweep may then have.
PARTS = {
    "run": (0, 1), "slice": (0,), "worker": (0,), "machine": (0,),
    "scheduler": (0, 2), "command": (-signal.SIGKILL,),
}  # fmt: skip


class Engine:
    def __init__(self, top: Path) -> None:
        self.top, self._stack = top, ExitStack()
        self._begin()
        atexit.register(self._stack.close)

    @property
    def words(self) -> tuple[str, ...]:
        return ("launcher=dask", f"launcher.address={self.cluster.file}", "launcher.runs=2")

    def _begin(self) -> None:
        self.cluster: Cluster = self._stack.enter_context(cluster(self.top / "cluster"))

    def strike(self, part: str, life: Life, outputs: Path, rng: random.Random) -> bool:
        """Strike a part at some moment while a run is at work; False if none was met."""
        until(lambda: life.ended() or any(outputs.glob("*/*/lock")))
        time.sleep(rng.uniform(0, 1))
        number = rng.randrange(2)
        worker = self.cluster.workers[number].pid
        slices = children(worker)
        runs = [run for one in slices for run in children(one)]
        if life.ended() or (part in ("run", "slice", "machine") and not runs):
            return False
        if part == "worker":
            self.cluster.kill(number)
        elif part == "scheduler":
            self.cluster.scheduler.kill()
        elif part == "machine":
            for pid in (*runs, *slices, worker):
                os.kill(pid, signal.SIGSTOP)
            time.sleep(rng.uniform(0, 3))
            for pid in (worker, *slices, *runs):
                os.kill(pid, signal.SIGCONT)
        else:
            pids = {"run": runs, "slice": slices, "command": [life.pid]}[part]
            os.kill(rng.choice(pids), signal.SIGKILL)
        return True

    def rest(self) -> None:
        """Until nothing of a sweep is at work; a scheduler that was killed is replaced."""
        until(lambda: not any(children(worker.pid) for worker in self.cluster.workers))
        if self.cluster.scheduler.poll() is not None:
            self._stack.close()
            self._begin()


_engines: list[Engine] = []


def at_work(top: Path) -> Engine:
    """The one of this campaign, begun when it is first asked for."""
    if not _engines:
        _engines.append(Engine(top))
    return _engines[0]
