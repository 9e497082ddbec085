"""One job of a sweep: what it is, and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from ntkexp.compose.finalise import finalise
from ntkexp.compose.jobs import Composer
from ntkexp.compose.overrides import typed_keys
from ntkexp.errors import UserError
from ntkexp.execution.execute import Command
from ntkexp.execution.life import NOTHING, Asked
from ntkexp.execution.outcome import DONE, FAILED, refuse_other_data, refuse_other_run
from ntkexp.identity import folder_of
from ntkexp.results.status import forget_work, read_status, refuse_damaged

# What a job writes to the terminal when it runs alone.
LOG = "log.txt"


class Outcome(StrEnum):
    waiting = "not started"
    running = "running"
    finished = "finished"
    already = "done already"
    failed = "failed"
    interrupted = "interrupted"
    elsewhere = "worked on elsewhere"


@dataclass
class Job:
    overrides: tuple[str, ...]
    name: str  # the overrides in which the jobs of the sweep differ
    config: DictConfig
    folder: Path
    outcome: Outcome = Outcome.waiting
    reason: str = ""
    log: Path | None = None
    asked: Asked = NOTHING
    # The overrides of all jobs of the batch that are this run.
    batch: list[tuple[str, ...]] = field(default_factory=list)

    @property
    def code(self) -> int:
        return DONE if self.outcome in (Outcome.finished, Outcome.already) else FAILED

    def fail(self, reason: str, log: Path | None = None) -> None:
        self.outcome, self.reason, self.log = Outcome.failed, reason, log


def jobs_of(composer: Composer, batch: Sequence[Sequence[str]]) -> list[Job]:
    """The jobs of a batch of overrides, composed, checked, each run only once."""
    common = set(batch[0]).intersection(*batch)
    axes = frozenset(typed_keys([word for words in batch for word in {*words} - common]))
    jobs: dict[Path, Job] = {}
    for overrides in batch:
        config = composer.compose(overrides)
        asked = Asked(frozenset(typed_keys(overrides)), axes)
        finalise(config, asked.typed)
        folder = folder_of(config)
        name = " ".join(word for word in overrides if word not in common) or folder.name
        # Jobs that differ in keys without influence on the result are one run.
        job = jobs.setdefault(folder, Job(tuple(overrides), name, config, folder, asked=asked))
        job.batch.append(tuple(overrides))
    return list(jobs.values())


def look_up(job: Job, command: Command, *, retry_failed: bool) -> None:
    """Set the outcome of a job that is done already, as its status.json says."""
    if job.config.rerun:
        return
    try:
        status = read_status(job.folder)
        if status is not None and status["state"] == "finished":
            refuse_damaged(job.folder, status)
            refuse_other_run(job.config, job.folder)
            refuse_other_data(job.config, job.folder, command.data)
    except UserError as error:
        job.fail(str(error))
        return
    if status is None:
        return
    if status["state"] == "finished":
        forget_work(job.folder)
        job.outcome = Outcome.already
    elif status["state"] == "failed" and not _came_from_outside(status) and not retry_failed:
        job.fail(f"{status['reason']}  (--retry-failed tries again)", log_of(job, status))


def _came_from_outside(status: dict[str, Any]) -> bool:
    """Whether a failure came from outside. A job that was killed may succeed the next time; one
    that raised an error will raise it again."""
    return "killed_by" in status


def log_of(job: Job, status: dict[str, Any]) -> Path | None:
    """The file in which to read about a failure."""
    for name in (status.get("traceback"), LOG):
        if name and (job.folder / name).exists():
            return job.folder / name
    return None
