"""What SLURM's queue says of jobs that say nothing themselves."""

from __future__ import annotations

import math
import os
import subprocess
import time
from collections.abc import Collection

LOOK_SECONDS = 10.0
# A job that came to its end is out of the queue before every machine sees what it wrote.
PATIENCE_SECONDS = 30.0


class Queue:
    """Which jobs have left the queue.

    Where SLURM keeps accounts, they tell of a job that was cancelled or lost with its node; on
    clusters without, that it is no longer listed is all there is to know.
    """

    def __init__(self) -> None:
        self._asked = -math.inf
        self._missed: dict[str, float] = {}  # since when

    def left(self, ids: Collection[str]) -> set[str]:
        """Those of `ids` that were in no list for `PATIENCE_SECONDS`."""
        now = time.monotonic()
        if now - self._asked >= LOOK_SECONDS:
            self._asked = now
            listed = _listed()
            if listed is not None:
                self._missed = {id: self._missed.get(id, now) for id in ids if id not in listed}
        return {id for id, since in self._missed.items() if now - since >= PATIENCE_SECONDS}


def _listed() -> set[str] | None:
    """This user's jobs, elements of arrays one by one; None when SLURM does not answer."""
    words = ["squeue", "--noheader", "--array", "--format=%i", f"--user={os.getuid()}"]
    try:
        answer = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return set(answer.stdout.split())
