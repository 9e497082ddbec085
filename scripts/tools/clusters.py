"""A Dask cluster of two workers on this machine, each process of which can be found and ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

COMMON = ("--host", "127.0.0.1", "--no-dashboard", "--scheduler-file")
QUIET = {"DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False"}


class Cluster:
    """`folder` gets the scheduler's file and what all of them print."""

    def __init__(self, folder: Path, environments: tuple[Mapping[str, str], ...], ttl: str) -> None:
        self.folder, self.file = folder, folder / "scheduler.json"
        self.file.unlink(missing_ok=True)  # of one that was killed
        given_up_after = {"DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": ttl}
        self.scheduler = self._start(given_up_after, "scheduler", "--port", "0")
        until(lambda: self.file.is_file() and self.file.stat().st_size > 0)
        self.workers = [self._worker(environment) for environment in environments]

    def kill(self, worker: int) -> None:
        """By SIGKILL; another one comes in its place."""
        self.workers[worker].kill()
        self.workers[worker].wait()
        self.workers[worker] = self._worker({})

    def end(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()

    def _worker(self, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        return self._start(environment, "worker", "--nthreads", "1", "--no-nanny")

    def _start(self, environment: Mapping[str, str], *words: str) -> subprocess.Popen[bytes]:
        what, *more = words
        program = [sys.executable, "-m", "dask", what, *COMMON, str(self.file), *more]
        environment = {**os.environ, **QUIET, **environment}
        with (self.folder / f"{what}.txt").open("a") as log:
            return subprocess.Popen(program, env=environment, cwd=self.folder, stderr=log)


@contextmanager
def cluster(
    folder: Path, environments: tuple[Mapping[str, str], ...] = ({}, {}), ttl: str = "5 minutes"
) -> Iterator[Cluster]:
    """A worker with each of the environments; silent for longer than `ttl` it is given up."""
    folder.mkdir(parents=True, exist_ok=True)
    started = Cluster(folder, environments, ttl)
    try:
        yield started
    finally:
        started.end()


def children(pid: int) -> list[int]:
    """The processes that a process of several threads has begun."""
    try:
        lists = [task.joinpath("children") for task in Path(f"/proc/{pid}/task").iterdir()]
        return [int(word) for file in lists for word in file.read_text().split()]
    except OSError:
        return []  # it is gone


def until(holds: Callable[[], object], seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not come to this"
        time.sleep(0.02)
