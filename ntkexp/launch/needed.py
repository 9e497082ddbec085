"""The runs that a sweep's jobs need, each made once, before the jobs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from omegaconf import DictConfig

from ntkexp.compose.finalise import Parent, parents
from ntkexp.execution.execute import COMMANDS, Command
from ntkexp.execution.life import Asked
from ntkexp.execution.outcome import DONE
from ntkexp.launch.job import Job
from ntkexp.launch.summary import summary

Engine = Callable[[Sequence[Job], DictConfig, Command, int], int]


def make_needed(jobs: Sequence[Job], config: DictConfig, engine: Engine) -> int:
    """Make what `jobs` need and is not there; jobs whose need could not be met fail.

    Returns the exit code of an interruption, else 0.
    """
    for command, needed in _in_order(jobs):
        code = engine(needed, config, COMMANDS[command], 0)
        print(f"needed first: {summary(needed)}")
        if code != DONE:
            return code
    for job in jobs:
        unmet = [parent for parent in parents(job.config) if not parent.finished]
        if unmet:
            job.fail(f"needs {unmet[0].folder}, which is not finished")
    return DONE


def needed_by(jobs: Sequence[Job]) -> list[Job]:
    """The runs that would be made before `jobs`, in order."""
    return [one for _, needed in _in_order(jobs) for one in needed]


def _in_order(jobs: Sequence[Job]) -> list[tuple[str, list[Job]]]:
    """(subcommand, runs) in order: the runs of each pair need only runs of the pairs before it."""
    levels: dict[Path, int] = {}
    found: dict[Path, Parent] = {}
    for job in jobs:
        _level(job.config, levels, found)
    grouped: dict[tuple[int, str], list[Job]] = {}
    for folder, parent in found.items():
        assert parent.how is not None
        how = parent.how
        name = " ".join(how.words)
        made = Job(tuple(how.words), name, how.config, folder, asked=Asked(how.typed))
        grouped.setdefault((levels[folder], how.command), []).append(made)
    return [(command, grouped[level, command]) for level, command in sorted(grouped)]


def _level(config: DictConfig, levels: dict[Path, int], found: dict[Path, Parent]) -> int:
    """The length of the longest chain of unfinished runs that the run of `config` needs."""
    highest = 0
    for parent in parents(config):
        if parent.finished:
            continue
        assert parent.how is not None
        if parent.folder not in levels:
            levels[parent.folder] = _level(parent.how.config, levels, found)
            found[parent.folder] = parent
        highest = max(highest, levels[parent.folder] + 1)
    return highest
