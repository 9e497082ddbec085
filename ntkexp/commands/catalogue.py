"""`ntkexp list` and `ntkexp show`: the experiments one can run, and the runs one has."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from shutil import get_terminal_size
from typing import Any

from ntkexp.commands.terminal import fitted
from ntkexp.errors import DamagedRunError, UnreadableRunError, UserError, meant
from ntkexp.experiments import Experiment, experiments, experiments_of
from ntkexp.papers.registry import paper
from ntkexp.results.folders import OUTPUTS, roots, runs, with_name
from ntkexp.results.numbers.standing import compared, distinguishing_keys, state_of, tables_of
from ntkexp.results.provenance import last_life
from ntkexp.results.status import read_status
from ntkexp.usage import parsed


def overview(words: Sequence[str], outputs: Path = OUTPUTS) -> str:
    """Paper by paper a line an experiment, and below it one a run; or one experiment's runs."""
    arguments = parsed("list", words)
    if len(arguments.names) > 1:
        raise UserError(f"ntkexp list takes one experiment, got {' '.join(arguments.names)}")
    name = arguments.names[0].removeprefix("+exp=") if arguments.names else None
    configs: Path | None = arguments.config_dir
    listed = [*experiments(), *(experiments_of(configs) if configs else ())]
    outputs = roots(outputs)[1] if arguments.reference else outputs
    runs_of: dict[str, list[Path]] = {}
    for run in runs(outputs):
        runs_of.setdefault(run.parent.relative_to(outputs).as_posix(), []).append(run)
    if arguments.json or arguments.sort or arguments.where:
        groups = [*runs_of.values()] if name is None else [_runs_of(name, listed, runs_of)]
        return _rows(arguments, groups)
    if name is not None:
        return fitted(_detail(name, listed, runs_of))
    line_width = max(len(experiment.line) for experiment in listed)
    figures_width = max(len(_figures(experiment)) for experiment in listed)
    lines = []
    for name in dict.fromkeys(experiment.paper for experiment in listed):
        lines += ["", paper(name).citation]
        for experiment in listed:
            if experiment.paper != name:
                continue
            line = f"{experiment.line:<{line_width}}  {_figures(experiment):<{figures_width}}"
            lines.append(f"{line}  {experiment.about}")
            lines += [f"    {line}" for line in _state_lines(runs_of.pop(experiment.name, []))]
    for folder, others in runs_of.items():
        states = list(_state_lines(others))
        if states:
            lines += ["", f"{outputs / folder}  (no experiment of this name here)"]
            lines += [f"    {line}" for line in states]
    return fitted("\n".join(lines[1:]))


def _rows(arguments: Namespace, groups: Iterable[Sequence[Path]]) -> str:
    # pandas is half a second: only here is it worth it.
    from ntkexp.commands.run_table import as_json, as_text, table

    frame = table([run for group in groups for run in group], arguments.where, arguments.sort)
    return as_json(frame) if arguments.json else as_text(frame, get_terminal_size().columns)


def _runs_of(
    name: str, listed: Sequence[Experiment], runs_of: Mapping[str, Sequence[Path]]
) -> Sequence[Path]:
    """The runs of an experiment, which there must be."""
    names = [*(experiment.name for experiment in listed), *runs_of]
    if name not in names:
        guess = meant(name, names)
        raise UserError(f"ntkexp list {name}: no such experiment{guess} (ntkexp list has all)")
    return runs_of.get(name, ())


def _detail(name: str, listed: Sequence[Experiment], runs_of: Mapping[str, Sequence[Path]]) -> str:
    """An experiment and its runs, with how far they came and their last numbers."""
    from ntkexp.results.numbers.standing import progress

    in_folder = _runs_of(name, listed, runs_of)
    named = [experiment for experiment in listed if experiment.name == name]
    lines = [
        f"{experiment.line}  {_figures(experiment)}  {experiment.about}" for experiment in named
    ] or [name]
    lines += [
        f"    stands in for {experiment.stands_in_for}"
        for experiment in named
        if experiment.stands_in_for
    ]
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
        try:
            status = read_status(run)
        except UnreadableRunError as error:
            yield str(error)
            continue
        except DamagedRunError as error:
            yield f"{run}  damaged: {error}"
            continue
        if status is not None:
            reason = f"  {status['reason']}" if "reason" in status else ""
            keys = f"  {keys_of[run]}" if keys_of.get(run) else ""
            yield f"{run}  {_state(run, status)}  {status.get('time', '')}{keys}{reason}"


def _state(run: Path, status: dict[str, Any]) -> str:
    state = state_of(run, status)
    return f"{state} (the same command resumes it)" if state == "stopped" else state


def show(words: Sequence[str]) -> str:
    """One run, or two to compare."""
    arguments = parsed("show", words)
    if len(arguments.names) not in (1, 2):
        raise UserError("ntkexp show takes one run or two, to compare: folders or ids")
    if arguments.json:
        from ntkexp.commands.run_table import as_json, table

        return as_json(table([_find(name, OUTPUTS) for name in arguments.names]))
    one_run = len(arguments.names) == 1
    return fitted(describe(arguments.names[0]) if one_run else differences(arguments.names))


def describe(name: str, outputs: Path = OUTPUTS) -> str:
    """A run by folder or id: what it is, where it comes from, its last numbers."""
    run = _find(name, outputs)
    status = read_status(run)
    assert status is not None
    lines = [f"{run}  {_state(run, status)}", "", *_config(run), ""]
    try:
        lines += [f"{key}: {_brief(value)}" for key, value in last_life(run).items()]
    except UserError as error:
        lines.append(str(error))
    lines += ["", *_last_numbers(run)]
    return "\n".join(lines)


def differences(names: Sequence[str], outputs: Path = OUTPUTS) -> str:
    """Two runs key by key: a line for everything in which they differ, and no other; and where
    their tables first differ."""
    from ntkexp.results.numbers.difference import differences as of_tables

    first, second = (_find(name, outputs) for name in names)
    rows = compared(first, second)
    header = [("", str(first), str(second))]
    lines = [(key, *values) for key, *values in header + rows]
    widths = [max(len(line[place]) for line in lines) for place in (0, 1)]
    text = [f"{key:<{widths[0]}}  {a:<{widths[1]}}  {b}".rstrip() for key, a, b in lines]
    text += [] if rows else ["they differ in nothing"]
    return "\n".join([*text, "", *of_tables(tables_of(first), tables_of(second))])


def _config(run: Path) -> list[str]:
    try:
        return [(run / "config.yaml").read_text(encoding="utf-8").rstrip()]
    except (OSError, UnicodeDecodeError) as error:
        return [f"{run / 'config.yaml'} cannot be read: {error}"]


def _find(name: str, outputs: Path) -> Path:
    if (Path(name) / "status.json").exists():
        return with_name(Path(name))
    places = [run for root in roots(outputs) for run in runs(root)]
    # A reference run that one has made oneself is one's own.
    ids = {run.name: run for run in reversed(places) if name and run.name.startswith(name)}
    matching = sorted(ids.values())
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise UserError(f"{name} is the beginning of several runs: {', '.join(map(str, matching))}")
    given = name or "ntkexp show ''"
    raise UserError(f"{given}: no run folder and no run's id under {outputs} (ntkexp list has all)")


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
