"""launcher=local: one process a job, on this machine, whose cores and GPUs are divided fairly."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from omegaconf import DictConfig

from ntkexp.config import LauncherConfig
from ntkexp.execution import threads
from ntkexp.execution.outcome import DONE
from ntkexp.execution.prepare import preload
from ntkexp.execution.threads import exported_threads
from ntkexp.launch.child import Slot
from ntkexp.launch.job import Job
from ntkexp.launch.pool import Pool
from ntkexp.machine import cores, gpus_for
from ntkexp.progress import Progress
from ntkexp.results.status import begun_with


def run(jobs: Sequence[Job], config: DictConfig, done_before: int) -> int:
    """Carry out every job. Returns 128 + n if signal n ended the sweep."""
    kept = [facts["threads"] for job in jobs if "threads" in (facts := begun_with(job.folder))]
    room = slots(config.launcher, len(jobs), gpus=gpus_for(config.device), kept=kept)
    # A process with threads of its own could not be forked. numpy starts them when it is loaded,
    # torch when it first computes; each job then takes its number.
    threads.use(1)
    for job in jobs:
        preload(job.config)
    threads.use(1)
    total = done_before + len(jobs)
    with Progress("sweep", total, start=done_before, shown=config.progress) as progress:
        pool = Pool(jobs, room, progress, fail_fast=config.launcher.fail_fast)
        pool.run()
    return 128 + pool.signals[0] if pool.signals else DONE


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
    threads = max([min(launcher.threads or exported_threads() or fair, fair), *kept])
    return [Slot(threads, gpus[index % len(gpus)] if gpus else None) for index in range(count)]
