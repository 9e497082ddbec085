"""The experiments with the runs one has; a run and what it is, or in what two differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ntkexp.errors import DamagedRunError, UnreadableRunError, UserError, meant
from ntkexp.experiments import Experiment, experiments, experiments_of
from ntkexp.papers.registry import paper
from ntkexp.results.files import content_of
from ntkexp.results.folders import OUTPUTS, roots, runs
from ntkexp.results.numbers.standing import (
    compared,
    distinguishing_keys,
    progress,
    state_of,
    tables_of,
)
from ntkexp.results.provenance import last_life
from ntkexp.results.status import read_status


class Catalogue:
    """What there is to list; `configs` is a folder with experiments of one's own, `reference` says
    that the runs are those that come with ntkexp.

    Of the runs each experiment has those in the folder of its name.
    """

    def __init__(self, configs: Path | None = None, *, reference: bool = False) -> None:
        self.experiments = [*experiments(), *(experiments_of(configs) if configs else ())]
        self.outputs = roots(OUTPUTS)[1] if reference else OUTPUTS
        self.runs_of: dict[str, list[Path]] = {}
        for run in runs(self.outputs):
            self.runs_of.setdefault(run.parent.relative_to(self.outputs).as_posix(), []).append(run)

    def runs(self, name: str | None) -> list[Path]:
        """The runs of an experiment, or of a paper, which there must be; without a name all."""
        if name is None:
            return [run for group in self.runs_of.values() for run in group]
        if of_paper := [one.name for one in self.experiments if one.paper == name]:
            return [run for one in of_paper for run in self.runs_of.get(one, [])]
        names = [*(experiment.name for experiment in self.experiments), *self.runs_of]
        if name not in names:
            guess = meant(name, names)
            raise UserError(f"ntkexp list {name}: no such experiment{guess} (ntkexp list has all)")
        return self.runs_of.get(name, [])

    def overview(self, paper_alone: str | None = None) -> str:
        """Paper by paper, or of one alone, a line an experiment, and below it one a run."""
        line_width = max(len(experiment.line) for experiment in self.experiments)
        figures_width = max(len(_figures(experiment)) for experiment in self.experiments)
        lines, others = [], dict(self.runs_of)
        for name in dict.fromkeys(experiment.paper for experiment in self.experiments):
            if paper_alone not in (None, name):
                continue
            lines += ["", paper(name).citation]
            for experiment in self.experiments:
                if experiment.paper != name:
                    continue
                line = f"{experiment.line:<{line_width}}  {_figures(experiment):<{figures_width}}"
                lines.append(f"{line}  {experiment.about}")
                lines += [f"    {line}" for line in _state_lines(others.pop(experiment.name, []))]
        for folder, folders in others.items() if paper_alone is None else ():
            states = list(_state_lines(folders))
            if states:
                lines += ["", f"{self.outputs / folder}  (no experiment of this name here)"]
                lines += [f"    {line}" for line in states]
        return "\n".join(lines[1:])

    def detail(self, name: str) -> str:
        """An experiment and its runs, with how far they came and their last numbers."""
        in_folder = self.runs(name)
        named = [experiment for experiment in self.experiments if experiment.name == name]
        lines = [f"{one.line}  {_figures(one)}  {one.about}" for one in named] or [name]
        lines += [f"    stands in for {one.stands_in_for}" for one in named if one.stands_in_for]
        keys_of = distinguishing_keys(in_folder)
        for run in in_folder:
            line = next(_state_lines([run]), "")
            lines.append(line)
            lines += [f"    {keys_of[run]}"] if keys_of.get(run) else []
            try:
                lines.append(f"    {progress(run)}".rstrip())
            except UserError as error:
                # The line of its state may say the same.
                lines += [] if str(error) in line else [f"    {error}"]
        return "\n".join(lines if in_folder else [*lines, "no runs here"])


def _figures(experiment: Experiment) -> str:
    words = [number for number in experiment.figures if number[0].islower()]
    numbers = [number for number in experiment.figures if number not in words]
    figures = [f"Fig {', '.join(numbers)}"] if numbers else []
    return ", ".join([*figures, *map(str.capitalize, words)])


def _state_lines(folders: Sequence[Path]) -> Iterator[str]:
    """A line a run: where it lies, how it stands, and in which keys it differs from the others."""
    keys_of = distinguishing_keys(folders)
    for run in folders:
        status = None
        try:
            status = read_status(run)
        except UnreadableRunError as error:
            yield str(error)
        except DamagedRunError as error:
            yield f"{run}  damaged: {error}"
        if status is not None:
            reason = f"  {status['reason']}" if "reason" in status else ""
            keys = f"  {keys_of[run]}" if keys_of.get(run) else ""
            yield f"{run}  {standing(run, status)}  {status.get('time', '')}{keys}{reason}"


def standing(run: Path, status: Mapping[str, Any]) -> str:
    """How it stands, in words."""
    state, told = state_of(run, status), status.get("summary", {})
    if told.get("diverged") and state == "finished":
        return f"{state} ({told['diverged']} of its networks diverged)"
    return f"{state} (the same command resumes it)" if state == "stopped" else state


def described(run: Path) -> str:
    """What a run is, where it comes from, its last numbers."""
    status = read_status(run)
    assert status is not None
    lines = [f"{run}  {standing(run, status)}", "", *_config(run), ""]
    try:
        lines += [f"{key}: {_brief(value)}" for key, value in last_life(run).items()]
    except UserError as error:
        lines.append(str(error))
    lines += ["", *_last_numbers(run)]
    return "\n".join(lines)


def differences(first: Path, second: Path) -> str:
    """Two runs key by key: a line for everything in which they differ, and no other; and where
    their tables first differ."""
    from ntkexp.results.numbers.difference import differences as of_tables

    rows = compared(first, second)
    header = [("", str(first), str(second))]
    lines = [(key, *values) for key, *values in header + rows]
    widths = [max(len(line[place]) for line in lines) for place in (0, 1)]
    text = [f"{key:<{widths[0]}}  {a:<{widths[1]}}  {b}".rstrip() for key, a, b in lines]
    text += [] if rows else ["they differ in nothing"]
    return "\n".join([*text, "", *of_tables(tables_of(first), tables_of(second))])


def _config(run: Path) -> list[str]:
    try:
        return [content_of(run / "config.yaml").decode().rstrip()]
    except (OSError, UnicodeDecodeError, DamagedRunError) as error:
        return [f"{run / 'config.yaml'} cannot be read: {error}"]


def _last_numbers(run: Path) -> Iterator[str]:
    # pandas is half a second: only here is it worth it.
    from ntkexp.results.reading import read_table, table_files

    for name, file in table_files(run).items():
        try:
            frame = read_table(file)
        except UserError as error:
            yield str(error)
            continue
        yield f"{name}: {len(frame)} rows"
        if name in ("steps", "evals") and len(frame):
            last = frame[frame["step"] == frame["step"].max()]
            yield last.to_string(index=False)


def _brief(value: object) -> str:
    if isinstance(value, dict) and "sha" in value:
        # Before ntkexp 0.2 a diff was kept, empty where there was none.
        changed = value.get("changes") or value.get("diff")
        return f"{value['sha']}" + (" and changes" if changed else "")
    if isinstance(value, dict):
        return ", ".join(f"{k} {v}" for k, v in value.items())
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
