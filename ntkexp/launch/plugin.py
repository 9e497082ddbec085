"""A sweeper and a launcher for Hydra, and what they return to it.

Hydra finds plugins by walking the namespace package hydra_plugins, which editable installs do not
take part in, and it only makes objects of classes that live there. So these are registered
explicitly, and this module is given a second name in that package.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, cast

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn, JobStatus
from hydra.plugins.launcher import Launcher
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig

from ntkexp.compose.composition import SWEEPERS
from ntkexp.compose.overrides import check_sweep
from ntkexp.errors import RunFailed, SweepStopped, UserError
from ntkexp.execution.outcome import DONE, metric_of
from ntkexp.launch.job import Job
from ntkexp.results.numbers.metric import KEY

# Exit codes above it tell of the signal that ended a process.
SIGNALS = 128
# The sweeper that is registered here.
OURS = "ntkexp"


class Task(Protocol):
    """The function that Hydra calls with the config of a single run (commands/application.py).

    `one_run`: a sweep is about one run alone, also where its experiment sweeps keys by itself.
    """

    one_run: bool
    codes: list[int]

    def __call__(self, config: DictConfig) -> object: ...


class SweepSweeper(Sweeper):
    """Every combination of the comma-separated values, in order.

    Hydra's own sweeper composes every job to see that it can be, before the launcher composes
    it again; our launcher does that once, and checks more. `params` are the values that an
    experiment sweeps by itself; a key that is given on the command line takes their place.
    """

    def __init__(self, params: dict[str, str] | None = None) -> None:
        self.declared = [f"{key}={values}" for key, values in (params or {}).items()]

    def setup(
        self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig
    ) -> None:
        self.context, self.config, self.task = hydra_context, config, cast(Task, task_function)
        self.launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function, config=config
        )

    def sweep(self, arguments: list[str]) -> Any:
        assert self.launcher is not None
        parser = OverridesParser.create(config_loader=self.context.config_loader)
        declared = [] if self.task.one_run else self.declared
        overrides = parser.parse_overrides([*declared, *arguments])
        check_sweep(overrides)
        [batch] = BasicSweeper.split_arguments(overrides, max_batch_size=None)
        return self.launcher.launch(batch, initial_job_idx=0)


class SweepLauncher(Launcher):
    """Gives a batch of jobs to the engine that `launcher` names."""

    def setup(
        self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig
    ) -> None:
        self.context, self.task, self.config = hydra_context, cast(Task, task_function), config
        if config.hydra.runtime.choices["hydra/sweeper"] != OURS:
            refuse_without_metric(config)

    def launch(
        self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int
    ) -> Sequence[JobReturn]:
        from ntkexp.launch.sweep import sweep

        before = len(self.task.codes)
        loader = self.context.config_loader
        jobs = sweep(loader, self.config, job_overrides, self.task.codes)
        if max(self.task.codes[before:], default=0) > SIGNALS:
            raise SweepStopped
        if self.config.hydra.runtime.choices["hydra/sweeper"] != OURS:
            # A sweeper of another package writes its own files there.
            Path(self.config.hydra.sweep.dir).mkdir(parents=True, exist_ok=True)
        elif not self.config.launcher.dry_run:
            print_numbers(jobs, self.config.objective_metric)
        return returns(jobs, job_overrides, self.config.objective_metric)


def register() -> None:
    """Make the sweeper and the launcher known to Hydra, unless they are. Their options are known
    already: composing needs those alone (ntkexp/compose/composition.py)."""
    plugins = Plugins.instance()
    if SweepLauncher in plugins.discover(Launcher):
        return
    for plugin in (SweepSweeper, SweepLauncher):
        plugin.__module__ = SWEEPERS
        plugins.register(plugin)
    package, _, name = SWEEPERS.partition(".")
    # There is such a package only where some plugin is installed; Hydra has looked already.
    home = sys.modules.setdefault(package, ModuleType(package))
    sys.modules[SWEEPERS] = sys.modules[__name__]
    setattr(home, name, sys.modules[__name__])


def returns(
    jobs: Sequence[Job], batch: Sequence[Sequence[str]], metric: str | None
) -> list[JobReturn]:
    """One a job of the batch, in its order, though several may be one run.

    `metric` is the path of the number that a job gives; without one it gives None.
    """
    job_of = {words: job for job in jobs for words in job.batch}
    numbers = {id(job): _number(job, metric) for job in jobs}
    return [_return(job_of[tuple(words)], words, numbers) for words in batch]


def print_numbers(jobs: Sequence[Job], metric: str | None) -> None:
    """Print the number of every job that is done, a line each, as a single run does."""
    if metric is None:
        return
    for job in jobs:
        number = _number(job, metric)
        if isinstance(number, UserError) and job.code == DONE:
            raise number
        if isinstance(number, float):
            print(f"{job.name}  {metric} = {number:.6g}")


def refuse_without_metric(config: DictConfig) -> None:
    """A sweeper that decides as it goes needs a number of every job, at once."""
    sweeper = config.hydra.runtime.choices["hydra/sweeper"]
    if config.objective_metric is None:
        raise UserError(
            f"hydra/sweeper={sweeper}: needs the number that it is about; expected "
            f"{KEY}=TABLE.COLUMN beside it, such as {KEY}=evals.test.loss"
        )
    if config.launcher.dry_run:
        raise UserError(
            f"--dry-run: hydra/sweeper={sweeper} chooses by what it has seen, so nothing can be "
            "told before; expected no --dry-run"
        )


def _number(job: Job, metric: str | None) -> float | Exception | None:
    if job.code != DONE:
        return RunFailed(job.folder, job.reason or str(job.outcome))
    if metric is None:
        return None
    try:
        return metric_of(job.folder, metric)
    except UserError as error:
        return error


def _return(
    job: Job, words: Sequence[str], numbers: dict[int, float | Exception | None]
) -> JobReturn:
    number = numbers[id(job)]
    failed = isinstance(number, Exception)
    return JobReturn(
        overrides=list(words),
        cfg=job.plan.config,
        status=JobStatus.FAILED if failed else JobStatus.COMPLETED,
        _return_value=number,
    )
