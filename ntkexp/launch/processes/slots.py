"""What the machine has for jobs: cores and GPUs, divided fairly."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from ntkexp.config import LauncherConfig
from ntkexp.execution.threads import exported
from ntkexp.machine.cores import cores


@dataclass(frozen=True)
class Slot:
    """Room for one job: the threads it may have at most, which small work leaves unused."""

    threads: int
    gpu: str | None


def slots(
    launcher: LauncherConfig, wanted: int, *, gpus: list[str], kept: Sequence[int] = ()
) -> list[Slot]:
    """Room for `launcher.jobs` at once: one a GPU where there are GPUs, else one a core.

    More jobs than GPUs share them in turn; fewer jobs than cores have several threads each. Threads
    times jobs are never more than the cores this process may use. For `launcher.threads`, and for
    the threads that runs were begun with (`kept`), there are fewer jobs at once; OMP_NUM_THREADS
    lowers the threads of a job, but a job has no more than its share. Only a run that was begun
    with more threads than there are cores has more, and then runs alone; and GPUs have the jobs
    that were asked for, with one thread each if there are no more.

    >>> slots(LauncherConfig(jobs=3, threads=1), 5, gpus=["0", "1"])[2]
    Slot(threads=1, gpu='0')
    """
    room = cores()
    largest = max([min(launcher.threads or 1, room), *kept])
    at_once = max(1, room // largest)
    if gpus:
        at_once = max(at_once, launcher.jobs or len(gpus))
    asked = launcher.jobs or len(gpus) or room
    count = max(1, min(wanted, asked, at_once))
    if launcher.jobs and count < min(wanted, launcher.jobs):
        print(
            f"{count} of launcher.jobs={launcher.jobs} at once: this process may use {room} "
            f"core{'s' * (room > 1)}, a job has {largest} thread{'s' * (largest > 1)}",
            file=sys.stderr,
        )
    fair = max(1, room // count)
    threads = max([min(launcher.threads or exported() or fair, fair), *kept])
    return [Slot(threads, gpus[index % len(gpus)] if gpus else None) for index in range(count)]
