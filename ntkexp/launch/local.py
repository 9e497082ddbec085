"""launcher=local: one process a job, on this machine."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial

from omegaconf import DictConfig

from ntkexp.execute import DONE, Command
from ntkexp.launch.job import Job
from ntkexp.launch.pool import Pool, Unit
from ntkexp.launch.slots import THREADS, slots, visible_gpus
from ntkexp.progress import Progress


def run(jobs: Sequence[Job], config: DictConfig, command: Command, settled: int) -> int:
    """Carry out `command` on every job; 128 + n when signal n put an end to the sweep."""
    units = [Unit([job], partial(command.work, job.config, job.folder)) for job in jobs]
    return run_units(units, config, command, settled)


def run_units(units: Sequence[Unit], config: DictConfig, command: Command, settled: int) -> int:
    gpus = [] if config.get("device") == "cpu" else visible_gpus()
    room = slots(config.launcher, len(units), gpus=gpus)
    # Read once, when numpy and torch are loaded; after that every fork has what it needs.
    os.environ |= dict.fromkeys(THREADS, str(room[0].threads))
    for unit in units:
        for job in unit.jobs:
            command.warm(job.config)
    total = settled + sum(len(unit.jobs) for unit in units)
    with Progress("sweep", total, start=settled, shown=config.progress) as progress:
        pool = Pool(units, room, progress, fail_fast=config.launcher.fail_fast)
        pool.run()
    return 128 + pool.signals[0] if pool.signals else DONE
