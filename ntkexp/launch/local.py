"""launcher=local: one process a job, on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from omegaconf import DictConfig

from ntkexp.execution import threads
from ntkexp.execution.execute import Command
from ntkexp.execution.outcome import DONE
from ntkexp.launch.job import Job
from ntkexp.launch.processes.pool import Pool, Unit
from ntkexp.launch.processes.slots import slots
from ntkexp.machine.gpus import gpus_for
from ntkexp.progress import Progress
from ntkexp.results.status import begun_with


def run(jobs: Sequence[Job], config: DictConfig, command: Command, done_before: int) -> int:
    """Carry out `command` on every job. Returns 128 + n if signal n ended the sweep."""
    units = [
        Unit([job], partial(command.run_if_needed, job.config, job.folder, job.asked))
        for job in jobs
    ]
    return run_units(units, config, command, done_before)


def run_units(units: Sequence[Unit], config: DictConfig, command: Command, done_before: int) -> int:
    jobs = [job for unit in units for job in unit.jobs]
    kept = [facts["threads"] for job in jobs if "threads" in (facts := begun_with(job.folder))]
    room = slots(config.launcher, len(units), gpus=gpus_for(config.device), kept=kept)
    # A process with threads of its own could not be forked. numpy starts them when it is loaded,
    # torch when it first computes; each job then takes its number.
    threads.use(1)
    for job in jobs:
        command.preload(job.config)
    threads.use(1)
    total = done_before + len(jobs)
    with Progress("sweep", total, start=done_before, shown=config.progress) as progress:
        pool = Pool(units, room, progress, fail_fast=config.launcher.fail_fast)
        pool.run()
    return 128 + pool.signals[0] if pool.signals else DONE
