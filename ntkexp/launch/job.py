"""One job of a sweep, its outcome, and the lines that report on all jobs."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from ntkexp.compose.composition import Composer
from ntkexp.compose.finalise import finalise
from ntkexp.compose.overrides import typed_keys
from ntkexp.compose.plan import Plan
from ntkexp.errors import UserError
from ntkexp.execution.outcome import DONE, FAILED, is_finished
from ntkexp.execution.prepare import checksums
from ntkexp.results.lock import is_locked
from ntkexp.results.status import LOCK, has_commits, read_status, tidy

# The file of the lines that a job would print if it ran alone.
LOG = "log.txt"
# Exit codes of a job's process beside those of a run: its input is bad, its run is worked on
# elsewhere, it broke.
BAD_INPUT, TAKEN, BROKEN = 2, 3, 1


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
    name: str  # the overrides in which the jobs of the sweep differ
    plan: Plan
    outcome: Outcome = Outcome.waiting
    reason: str = ""
    log: Path | None = None
    # The overrides of all jobs of the batch that are this run.
    batch: list[tuple[str, ...]] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        return self.plan.folder

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
        plan = finalise(composer.compose(overrides), frozenset(typed_keys(overrides)))
        name = " ".join(word for word in overrides if word not in common) or plan.folder.name
        # Jobs that differ in keys without influence on the result are one run.
        job = jobs.setdefault(plan.folder, Job(name, replace(plan, axes=axes)))
        job.batch.append(tuple(overrides))
    return list(jobs.values())


def look_up(job: Job, *, retry_failed: bool) -> None:
    """Set the outcome of a job that is done already, as its status.json says."""
    if job.plan.config.rerun:
        return
    try:
        status = read_status(job.folder)
        if status is None:
            return
        finished = is_finished(job.plan, status, checksums)
    except UserError as error:
        job.fail(str(error))
        return
    if finished:
        job.outcome = Outcome.already
    elif status["state"] == "failed" and not _came_from_outside(status) and not retry_failed:
        job.fail(f"{status['reason']}  (--retry-failed tries again)", log_of(job, status))


def _came_from_outside(status: dict[str, Any]) -> bool:
    """True if a failure came from outside. A job that was killed may succeed the next time; one
    that raised an error will raise it again."""
    return "killed_by" in status


def log_of(job: Job, status: dict[str, Any]) -> Path | None:
    """The file in which to read about a failure."""
    for name in (status.get("traceback"), LOG):
        if name and (job.folder / name).exists():
            return job.folder / name
    return None


def set_outcome(job: Job, code: int, message: str, *, stopping: bool) -> None:
    """Set how a job ended. The run's status.json counts first: a process may be killed just
    after its work is done."""
    try:
        status = read_status(job.folder) or {"state": "missing"}
    except UserError as error:
        job.fail(str(error), job.folder / LOG)
        return
    # After a rerun that ended early, "finished" may be of the life before.
    if status["state"] == "finished" and not (job.plan.config.rerun and code != DONE):
        job.outcome = Outcome.finished
        if code < 0:
            # Killed when its work was done, perhaps before it had tidied up.
            tidy(job.folder)
    elif code == DONE:
        job.outcome = Outcome.finished  # and another command has begun to do it again
    elif code == TAKEN:
        job.outcome, job.reason = Outcome.elsewhere, message
    elif code < 0 and not stopping:
        _record_kill(job, signal.Signals(-code))
    elif code == BAD_INPUT:
        job.fail(message, log_of(job, status))
    elif status["state"] == "failed":
        job.fail(status["reason"], log_of(job, status))
    elif stopping or status["state"] == "interrupted":
        job.outcome = Outcome.interrupted
    else:
        job.fail(message or f"ended with code {code}", log_of(job, status))


def _record_kill(job: Job, number: signal.Signals) -> None:
    from ntkexp.results.store import Run

    reason = f"killed by {number.name}"
    if number is signal.SIGKILL:
        reason += " (out of memory?)"
    job.fail(reason, job.folder / LOG)
    try:
        with Run(job.folder, ()) as run:
            status = read_status(job.folder) or {}
            if status.get("state") == "finished" and not job.plan.config.rerun:
                job.outcome = Outcome.finished  # by another process, after this one was killed
                return
            run.write_status("failed", reason=reason, killed_by=number.name, log=LOG)
    except UserError:
        pass  # taken up by another already, whose word stands, or no room to say it


def summary(jobs: Sequence[Job]) -> str:
    """The number of jobs by outcome, and a line for each that was begun and did not end well."""
    counts = Counter(str(job.outcome) for job in jobs)
    counted = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    head = f"{_count(jobs)}: {counted}"
    if all(job.outcome is Outcome.already for job in jobs):
        head += "  (--rerun does them again)"
    told = [job for job in jobs if job.code != DONE and job.outcome is not Outcome.waiting]
    return "\n".join([head, *_table(map(_row, told))])


def forecast(jobs: Sequence[Job], needed: Sequence[Job] = ()) -> str:
    """The plan of a sweep (--dry-run): a line a job, after the runs that are needed first."""
    if needed:
        return f"needed first: {forecast(needed)}\n{forecast(jobs)}"
    counts = Counter(_plan(job) for job in jobs)
    counted = ", ".join(f"{count} {plan}" for plan, count in counts.items())
    rows = ((job.name, _plan(job), str(job.folder), _short(job.reason)) for job in jobs)
    return "\n".join([f"{_count(jobs)}: {counted}", *_table(rows)])


def same_run(jobs: Sequence[Job]) -> Iterator[str]:
    """A line for each run that several jobs, of different overrides, have in common."""
    for job in jobs:
        of_run = list(dict.fromkeys(job.batch))
        if len(of_run) > 1:
            common = set(of_run[0]).intersection(*of_run)
            names = [
                " ".join(word for word in overrides if word not in common) for overrides in of_run
            ]
            yield f"{', '.join(names)}: one run, since its id does not depend on these"


def _count(jobs: Sequence[Job]) -> str:
    return "1 job" if len(jobs) == 1 else f"{len(jobs)} jobs"


def _plan(job: Job) -> str:
    if job.outcome is not Outcome.waiting:
        return "failed before" if job.outcome is Outcome.failed else str(job.outcome)
    if is_locked(job.folder / LOCK):
        return "running now"
    if has_commits(job.folder) and not job.plan.config.rerun:
        return "to resume"
    return "to run again" if (job.folder / "status.json").exists() else "to run"


def _row(job: Job) -> tuple[str, ...]:
    return (job.name, str(job.outcome), _short(job.reason), str(job.log or job.folder))


def _short(reason: str) -> str:
    """The first line: all of it is in the log that is named beside it."""
    return reason.partition("\n")[0]


def _table(rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Columns of equal width, the last one free."""
    lines = list(rows)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  "
        + "  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip()
        for row in lines
    ]
