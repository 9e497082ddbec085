"""The disk's training, timed: `python -m tests.execution.working THREADS`.

It says `ready`, then answers a line with a number of seconds by steps a second of so long a turn.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from pathlib import Path

from ntkexp.errors import Interrupted
from ntkexp.execution import threads
from ntkexp.results import Run
from ntkexp.training import supervised
from ntkexp.training.loop import Loop
from tests.tiny_runs import composed, prepared

WORDS = (
    "+exp=disk", "optim.stop_loss=null", "optim.steps=100000", "probing.spacing=linear",
    "probing.every=50", "progress=false", "device=cpu", "checkpoint.every_seconds=1e9",
)  # fmt: skip


class Turns:
    """Asked before every step whether to stop: counts the steps of a turn, tells their rate when
    its seconds are over, and waits for the next line."""

    def __init__(self) -> None:
        self.steps, self.began, self.seconds = -1, time.perf_counter(), 0.0
        self.warm = False

    def __call__(self) -> bool:
        self.steps += 1
        now = time.perf_counter()
        if self.steps == 0 or now - self.began < self.seconds:
            return False
        print(self.steps / (now - self.began) if self.warm else "ready", flush=True)
        line = sys.stdin.readline()
        self.warm, self.steps = True, 0
        self.seconds, self.began = float(line or 0), time.perf_counter()
        return not line


def main() -> None:
    threads.use(int(sys.argv[1]))
    ready = prepared(composed(WORDS))
    # So that the loop asks after every step.
    supervised.BURST_SECONDS = 0.0
    with (
        tempfile.TemporaryDirectory() as folder,
        Run(Path(folder, "run"), ready.tables) as run,
        contextlib.suppress(Interrupted),
    ):
        run.begin("", {})
        Loop(ready.work, run, looks=ready.looks, probes=ready.probes).go(Turns())


if __name__ == "__main__":
    main()
