"""A sweep from its overrides to its last line: find what is done, run the rest, report."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path

from hydra.core.config_loader import ConfigLoader
from omegaconf import DictConfig

from ntkexp.compose.jobs import Composer
from ntkexp.config import LauncherConfig
from ntkexp.errors import UserError
from ntkexp.execution import threads
from ntkexp.execution.execute import Command
from ntkexp.execution.needed import refuse_unmet
from ntkexp.launch.job import Job, Outcome, jobs_of, look_up
from ntkexp.launch.needed import make_needed, needed_by
from ntkexp.launch.summary import forecast, same_run, summary
from ntkexp.launch.task import Task
from ntkexp.results.atomic import refuse_unwritable

ENGINES = ("local", "slurm")
# Takes the jobs to run, the sweep's config, the command and how many jobs were done before.
Engine = Callable[[Sequence[Job], DictConfig, Command, int], int]


def sweep(
    loader: ConfigLoader, config: DictConfig, batch: Sequence[Sequence[str]], task: Task
) -> list[Job]:
    """Run the jobs of a batch of overrides; the exit code goes to `task`."""
    launcher = config.launcher
    jobs = jobs_of(Composer(loader, config), batch)
    for line in same_run(jobs):
        print(line)
    for job in jobs:
        look_up(job, task.command, retry_failed=launcher.retry_failed)
    waiting = [job for job in jobs if job.outcome is Outcome.waiting]
    if waiting:
        refuse_bad(waiting, task.command)
    if launcher.dry_run:
        print(forecast(jobs, needed_by(waiting)))
        return jobs
    if waiting:
        engine = engine_of(launcher)
        if code := make_needed(waiting, config, engine):
            task.codes.append(code)
            return jobs
        waiting = [job for job in waiting if job.outcome is Outcome.waiting]
    if waiting:
        task.codes.append(engine(waiting, config, task.command, len(jobs) - len(waiting)))
    task.codes.append(max(job.code for job in jobs))
    print(summary(jobs))
    return jobs


def refuse_bad(jobs: Sequence[Job], command: Command) -> None:
    """Refuse what can be refused without data, before the first job starts."""
    for job in jobs:
        refuse_unmet(job.config)
    for outputs in {str(job.config.paths.outputs) for job in jobs}:
        refuse_unwritable(Path(outputs))
    threads.use(1)  # a process with threads of its own could not be forked
    for job in jobs:
        command.preload(job.config)


def engine_of(launcher: LauncherConfig) -> Engine:
    """What carries out jobs; a heavy one is imported only when it is asked for."""
    name = launcher.name
    if name not in ENGINES:
        raise UserError(f"launcher.name={name}: there are {', '.join(ENGINES)}")
    engine: Engine = importlib.import_module(f"ntkexp.launch.{name}").run
    return engine
