"""A sweep in words: what would be done, or what was done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from ntkexp.launch.job import Job, Outcome
from ntkexp.results.lock import is_locked
from ntkexp.results.status import begun

DONE = (Outcome.finished, Outcome.already)


def summary(jobs: Sequence[Job]) -> str:
    """How many ended how; a line for each that did not end well."""
    counts = Counter(str(job.outcome) for job in jobs)
    counted = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    head = f"{_count(jobs)}: {counted}"
    if all(job.outcome is Outcome.already for job in jobs):
        head += "  (--rerun does them again)"
    return "\n".join([head, *_table(_row(job) for job in jobs if job.outcome not in DONE)])


def forecast(jobs: Sequence[Job], needed: Sequence[Job] = ()) -> str:
    """The plan of a sweep (--dry-run): a line a job, after the runs that are needed first."""
    if needed:
        return f"needed first: {forecast(needed)}\n{forecast(jobs)}"
    counts = Counter(_plan(job) for job in jobs)
    counted = ", ".join(f"{count} {plan}" for plan, count in counts.items())
    rows = ((job.name, _plan(job), str(job.folder), _short(job.reason)) for job in jobs)
    return "\n".join([f"{_count(jobs)}: {counted}", *_table(rows)])


def same_run(jobs: Sequence[Job]) -> Iterator[str]:
    """A line for each run that several jobs of other words are."""
    for job in jobs:
        several = list(dict.fromkeys(job.batch))
        if len(several) > 1:
            common = set(several[0]).intersection(*several)
            names = [
                " ".join(word for word in overrides if word not in common) for overrides in several
            ]
            yield f"{', '.join(names)}: one run, since its id does not depend on these"


def _count(jobs: Sequence[Job]) -> str:
    return "1 job" if len(jobs) == 1 else f"{len(jobs)} jobs"


def _plan(job: Job) -> str:
    if job.outcome is not Outcome.waiting:
        return "failed before" if job.outcome is Outcome.failed else str(job.outcome)
    if is_locked(job.folder / "lock"):
        return "running now"
    if begun(job.folder) and not job.config.rerun:
        return "to resume"
    return "to run again" if (job.folder / "status.json").exists() else "to run"


def _row(job: Job) -> tuple[str, ...]:
    return (job.name, str(job.outcome), _short(job.reason), str(job.log or job.folder))


def _short(reason: str) -> str:
    """The first line: all of it is in the log that is named beside it."""
    return reason.partition("\n")[0]


def _table(rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Columns of equal width, the last one free."""
    kept = list(rows)
    widths = [max(map(len, column)) for column in zip(*kept, strict=True)]
    return [
        "  "
        + "  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip()
        for row in kept
    ]
