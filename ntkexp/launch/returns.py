"""The numbers that the jobs of a sweep return to a sweeper, or why there is none.

Hydra's sweepers expect one return a job, in the order in which they asked.
"""

from __future__ import annotations

from collections.abc import Sequence

from hydra.core.utils import JobReturn, JobStatus
from omegaconf import DictConfig

from ntkexp.errors import RunFailed, RunTakenError, UserError
from ntkexp.execution.outcome import DONE
from ntkexp.launch.job import Job, Outcome
from ntkexp.launch.plugin import metric_of
from ntkexp.results.numbers.metric import KEY


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
    if job.outcome is Outcome.elsewhere:
        return RunTakenError(f"{job.folder}: {job.reason}")
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
        cfg=job.config,
        status=JobStatus.FAILED if failed else JobStatus.COMPLETED,
        _return_value=number,
    )
