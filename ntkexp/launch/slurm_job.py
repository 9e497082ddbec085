"""One job on a node of a cluster, which comes back when it is preempted."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from omegaconf import DictConfig

from ntkexp.errors import RunTakenError
from ntkexp.execution.run import NOTHING_TYPED, Typed, run
from ntkexp.results.lock import SILENT_SECONDS

# submitit's word for: the time is nearly up, or somebody else needs this node.
PREEMPTED = signal.SIGUSR2
RETRY_SECONDS = 15.0


@dataclass
class SlurmJob:
    """A callable that submitit pickles, sends and calls; and again after a preemption."""

    config: DictConfig
    folder: Path
    typed: Typed = NOTHING_TYPED

    def __call__(self) -> int:
        with _preemption() as preempted:
            code = self._carry_out()
        if preempted:
            # Everything is committed: now submitit may put the job back into the queue.
            os.kill(os.getpid(), PREEMPTED)
        if code >= 128:
            # Whoever sent SIGTERM (scontrol requeue, scancel) decides whether it comes back. To
            # return would tell submitit that the job is over.
            sys.exit(code)
        return code

    def checkpoint(self) -> object:
        """submitit's way to go on: call the same again. The run knows where it was."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self)

    def _carry_out(self) -> int:
        patience = time.monotonic() + SILENT_SECONDS + 60
        while True:
            try:
                return run(self.config, self.folder, self.typed)
            except RunTakenError as error:
                # A life that was killed on another node looks alive until its lock goes stale.
                if time.monotonic() > patience:
                    raise
                print(f"waiting: {error}", flush=True)
                time.sleep(RETRY_SECONDS)


@contextmanager
def _preemption() -> Iterator[list[int]]:
    """Inside, the signal of preemption asks the run to commit and stop, as SIGTERM does."""
    preempted: list[int] = []

    def ask(number: int, frame: FrameType | None) -> None:
        preempted.append(number)
        os.kill(os.getpid(), signal.SIGTERM)

    before = signal.signal(PREEMPTED, ask)
    try:
        yield preempted
    finally:
        signal.signal(PREEMPTED, before)
