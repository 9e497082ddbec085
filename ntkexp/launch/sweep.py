"""A sweep from its overrides to its last line: settle what is done, run the rest, tell."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence

from hydra.core.config_loader import ConfigLoader
from omegaconf import DictConfig

from ntkexp.config import LauncherConfig
from ntkexp.errors import UserError
from ntkexp.execute import Command
from ntkexp.launch.compose import Composer
from ntkexp.launch.job import Job, Outcome, jobs_of, look_up
from ntkexp.launch.summary import forecast, summary
from ntkexp.launch.task import Task
from ntkexp.progress import Progress

ENGINES = ("local", "ensemble")
Engine = Callable[[Sequence[Job], DictConfig, Command, Progress], int]


def sweep(
    loader: ConfigLoader, config: DictConfig, batch: Sequence[Sequence[str]], task: Task
) -> list[Job]:
    """Run the jobs of a batch of overrides; the exit code goes to `task`."""
    launcher = config.launcher
    jobs = jobs_of(Composer(loader, config), batch, task.command)
    for job in jobs:
        look_up(job, retry_failed=launcher.retry_failed)
    if launcher.dry_run:
        print(forecast(jobs))
        return jobs
    if any(job.outcome is Outcome.waiting for job in jobs):
        task.codes.append(_run(jobs, config, task.command))
    task.codes.append(max(job.code for job in jobs))
    print(summary(jobs))
    return jobs


def _run(jobs: Sequence[Job], config: DictConfig, command: Command) -> int:
    waiting = [job for job in jobs if job.outcome is Outcome.waiting]
    done = len(jobs) - len(waiting)
    with Progress("sweep", len(jobs), start=done, shown=config.progress) as progress:
        return engine_of(config.launcher)(waiting, config, command, progress)


def engine_of(launcher: LauncherConfig) -> Engine:
    """What carries out jobs; a heavy one is imported only when it is asked for."""
    name = launcher.name
    if name not in ENGINES:
        raise UserError(f"launcher.name={name}: there are {', '.join(ENGINES)}")
    engine: Engine = importlib.import_module(f"ntkexp.launch.{name}").run
    return engine
