"""A run beside two busy processes on two cores keeps a quarter of its idle speed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ntkexp.execution import threads
from tests.docs.pages import TOP
from tests.execution.working import WORDS
from tests.tiny_runs import composed

MOST_TURNS = 30
# It ends by itself when the test is killed.
BUSY = "import os; parent = os.getppid()\nwhile os.getppid() == parent: pass"


@pytest.mark.on_demand
@pytest.mark.skipif(sys.platform != "linux", reason="two cores are given by affinity")
def test_a_run_keeps_a_quarter_of_its_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the disk's network, which has two threads: one that spins keeps about an eighth.

    Turns of idle and busy alternate until two shares in a row are large enough, thirty at most,
    which is two minutes: tests beside this one may take the cores for as long as one of them lasts,
    and a share is then smaller. Speed alone is the highest so far, of five looks or more: one that
    spins is now and then slow alone as well, and by such a look it would have kept a half.
    """
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)  # as a user has it
    before = os.sched_getaffinity(0)
    two = set(sorted(before)[:2])
    os.sched_setaffinity(0, two)  # the worker and the busy processes inherit it
    try:
        shares = kept()
    finally:
        os.sched_setaffinity(0, before)
    assert min(shares[-2:]) > 0.25, shares


def kept() -> list[float]:
    """Speed beside two busy processes over speed alone, until it is twice more than a quarter."""
    number = threads.wanted(composed(WORDS)).number
    assert number == threads.cores()
    with Worker(number) as worker:
        shares: list[float] = []
        idle = max(worker.rate(1.0) for _ in range(4))
        while len(shares) < 2 or (len(shares) < MOST_TURNS and min(shares[-2:]) <= 0.25):
            idle = max(idle, worker.rate(1.0))
            with busy(2):
                shares.append(worker.rate(2.0) / idle)
    return shares


class Worker:
    """A process that trains when it is told, with threads that wait as those of a run do."""

    def __init__(self, number: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.execution.working", str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=TOP,
            env=os.environ | threads.WAITING,
        )
        assert self._answer() == "ready\n"

    def rate(self, seconds: float) -> float:
        """Steps a second."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        return float(self._answer())

    def _answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *ignored: object) -> None:
        with self.process:  # closes its pipes, waits for its end
            self.process.kill()


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Meanwhile so many processes each want a core."""
    running = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(processes)]
    try:
        time.sleep(0.5)
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()
