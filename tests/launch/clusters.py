"""A Dask cluster of two workers on this machine, whose processes can be found and killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.environment import LOOPBACK, python_path

# Two machines in one: no lock of the one is seen by the other, and after three quiet seconds a run
# is taken over.
MACHINE = f"""
import errno, fcntl, os, runpy
runpy.run_path({str(LOOPBACK / "sitecustomize.py")!r})
from ntkexp.results import lock
def refused(*words):
    raise OSError(errno.ENOLCK, "no locks here")
fcntl.flock = refused
lock.kernel = lambda: os.environ["MACHINE"]
lock.SILENT_SECONDS, lock.TOUCH_SECONDS = 3.0, 0.2
"""


class Cluster:
    def __init__(self, folder: Path, *, machines: bool = False) -> None:
        self.folder, self.machines = folder, machines
        self.file = folder / "scheduler.json"
        self.scheduler = self._start("scheduler", "--port", "0")
        until(lambda: self.file.is_file() and self.file.stat().st_size > 0)
        self.workers = [self.join(number) for number in range(2)]

    def join(self, number: int = 0) -> subprocess.Popen[bytes]:
        words = ("--nthreads", "1", "--no-nanny", "--local-directory", str(self.folder))
        return self._start("worker", *words, machine=f"machine {number}")

    def _start(self, what: str, *words: str, machine: str = "") -> subprocess.Popen[bytes]:
        environment = {
            **os.environ,
            "MACHINE": machine,
            "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
            "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "2s",
        }
        if self.machines:
            (self.folder / "machine").mkdir(exist_ok=True)
            (self.folder / "machine" / "sitecustomize.py").write_text(MACHINE)
            watched = python_path(os.environ["PYTHONPATH"])
            environment["PYTHONPATH"] = f"{self.folder / 'machine'}:{watched}"
        common = ("--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", str(self.file))
        with (self.folder / f"{what}.txt").open("a") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "dask", what, *common, *words],
                env=environment,
                cwd=self.folder,
                stderr=log,
            )

    def at_work(self, top: Path) -> list[int]:
        """The processes of a run at work: its own, that of its slice, and the worker's."""
        ids: list[int] = []

        def found() -> bool:
            for lock in top.glob("outputs/*/*/lock"):
                try:
                    ids[:] = [json.loads(lock.read_text())["pid"]]
                    while ids[-1] not in [worker.pid for worker in self.workers]:
                        ids.append(_parent(ids[-1]))
                except (OSError, ValueError):
                    continue  # it ended in this moment
                return bool([*top.glob("outputs/*/*/unfinished/committed/*")])
            return False

        until(found)
        return ids

    def end(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()


def _parent(pid: int) -> int:
    if pid <= 1:
        raise OSError("no worker's")
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


@contextmanager
def cluster(folder: Path, *, machines: bool = False) -> Iterator[Cluster]:
    started = Cluster(folder, machines=machines)
    try:
        yield started
    finally:
        started.end()


def until(holds: Callable[[], bool], seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not come to this"
        time.sleep(0.02)
