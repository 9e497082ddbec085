"""A sweep from its overrides to its last line: find what is done, run the rest, report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from hydra.core.config_loader import ConfigLoader
from omegaconf import DictConfig, OmegaConf

from ntkexp.compose.composition import Composer
from ntkexp.compose.plan import Parent, Plan, refuse_unmet
from ntkexp.config import Launcher
from ntkexp.execution import threads
from ntkexp.execution.outcome import DONE
from ntkexp.execution.prepare import preload
from ntkexp.launch.job import Job, Outcome, forecast, jobs_of, look_up, same_run, summary
from ntkexp.results.files import refuse_unwritable

# Takes the jobs to run, the sweep's config, and how many jobs were done before.
Engine = Callable[[Sequence[Job], DictConfig, int], int]


def sweep(
    loader: ConfigLoader, config: DictConfig, batch: Sequence[Sequence[str]], codes: list[int]
) -> list[Job]:
    """Run the jobs of a batch of overrides; exit codes are appended to `codes`."""
    launcher = OmegaConf.to_object(config.launcher)
    assert isinstance(launcher, Launcher)
    jobs = jobs_of(Composer(loader, config), batch)
    for line in same_run(jobs):
        print(line)
    for job in jobs:
        look_up(job, retry_failed=launcher.retry_failed)
    waiting = [job for job in jobs if job.outcome is Outcome.waiting]
    if waiting:
        refuse_bad(waiting)
    if launcher.dry_run:
        print(forecast(jobs, needed_by(waiting)))
        return jobs
    if waiting:
        if code := make_needed(waiting, config, launcher.run):
            codes.append(code)
            return jobs
        waiting = [job for job in waiting if job.outcome is Outcome.waiting]
    if waiting:
        codes.append(launcher.run(waiting, config, len(jobs) - len(waiting)))
    codes.append(max(job.code for job in jobs))
    print(summary(jobs))
    return jobs


def refuse_bad(jobs: Sequence[Job]) -> None:
    """Refuse what can be refused without data, before the first job starts."""
    for job in jobs:
        refuse_unmet(job.plan)
    for outputs in {str(job.plan.config.paths.outputs) for job in jobs}:
        refuse_unwritable(Path(outputs))
    threads.use(1)  # a process with threads of its own could not be forked
    for job in jobs:
        preload(job.plan)


def make_needed(jobs: Sequence[Job], config: DictConfig, engine: Engine) -> int:
    """Make what `jobs` need and is not there; jobs whose need could not be met fail.

    Returns the exit code of an interruption, else 0.
    """
    for needed in _in_order(jobs):
        code = engine(needed, config, 0)
        print(f"needed first: {summary(needed)}")
        if code != DONE:
            return code
    for job in jobs:
        unmet = [parent for parent in job.plan.needs if not parent.finished]
        if unmet:
            job.fail(f"needs {unmet[0].folder}, which is not finished")
    return DONE


def needed_by(jobs: Sequence[Job]) -> list[Job]:
    """The runs that would be made before `jobs`, in order."""
    return [job for needed in _in_order(jobs) for job in needed]


def _in_order(jobs: Sequence[Job]) -> list[list[Job]]:
    """The runs that `jobs` need, in groups: those of each need only runs of the groups before."""
    levels: dict[Path, int] = {}
    parents_by_folder: dict[Path, Parent] = {}
    for job in jobs:
        _level(job.plan, levels, parents_by_folder)
    grouped: dict[tuple[int, str], list[Job]] = {}  # by level and subcommand
    for folder, parent in parents_by_folder.items():
        assert parent.plan is not None
        parent_job = Job(" ".join(parent.words), parent.plan)
        grouped.setdefault((levels[folder], parent.plan.command), []).append(parent_job)
    return [grouped[key] for key in sorted(grouped)]


def _level(plan: Plan, levels: dict[Path, int], by_folder: dict[Path, Parent]) -> int:
    """The length of the longest chain of unfinished runs that a run needs."""
    highest = 0
    for parent in plan.needs:
        if parent.finished:
            continue
        assert parent.plan is not None
        if parent.folder not in levels:
            levels[parent.folder] = _level(parent.plan, levels, by_folder)
            by_folder[parent.folder] = parent
        highest = max(highest, levels[parent.folder] + 1)
    return highest
