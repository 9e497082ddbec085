"""What there is: the experiments one can run, and the runs one has. Imports no torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ntkexp.errors import UserError
from ntkexp.experiments import Experiment, experiments, swept_by_themselves
from ntkexp.papers.found import paper
from ntkexp.results import folders
from ntkexp.results.commits import DamagedRunError
from ntkexp.results.facts import last_life
from ntkexp.results.folders import runs
from ntkexp.results.lock import held
from ntkexp.results.status import read_status

OUTPUTS = Path("outputs")
REFERENCE = OUTPUTS / folders.REFERENCE


def overview(words: Sequence[str], outputs: Path = OUTPUTS) -> str:
    """Paper by paper a line an experiment, and below it one a run."""
    if words:
        raise UserError(f"ntkexp list takes nothing, got {' '.join(words)}")
    known = experiments()
    first = max(len(experiment.line) for experiment in known)
    second = max(len(_figures(experiment)) for experiment in known)
    there: dict[str, list[Path]] = {}
    for run in runs(outputs):
        there.setdefault(run.parent.relative_to(outputs).as_posix(), []).append(run)
    lines = []
    for name in dict.fromkeys(experiment.paper for experiment in known):
        lines += ["", paper(name).told]
        for experiment in (one for one in known if one.paper == name):
            lines.append(
                f"{experiment.line:<{first}}  {_figures(experiment):<{second}}  {experiment.about}"
            )
            lines += [f"    {line}" for line in _told(there.pop(experiment.name, []))]
    for folder, its in there.items():
        told = list(_told(its))
        if told:
            lines += ["", f"{outputs / folder}  (no experiment of this name here)"]
            lines += [f"    {line}" for line in told]
    return "\n".join(lines[1:])


def _figures(experiment: Experiment) -> str:
    words = [number for number in experiment.figures if number[0].islower()]
    numbers = [number for number in experiment.figures if number not in words]
    told = [f"Fig {', '.join(numbers)}"] if numbers else []
    return ", ".join([*told, *map(str.capitalize, words)])


def _told(found: Sequence[Path]) -> Iterator[str]:
    for run in found:
        try:
            status = read_status(run)
        except DamagedRunError as error:
            yield f"{run}  damaged: {error}"
            continue
        if status is not None:
            reason = f"  {status['reason']}" if "reason" in status else ""
            yield f"{run}  {_state(run, status)}  {status.get('time', '')}{reason}"


def _state(run: Path, status: dict[str, Any]) -> str:
    if status["state"] == "running" and not held(run / "lock"):
        return "stopped (the same command resumes it)"
    return str(status["state"])


def migration(words: Sequence[str]) -> str:
    """Migrate the runs below the folders named, or below outputs: a line each, and a count."""
    from ntkexp.results.migrate import migrate

    roots = [Path(word) for word in words] or [OUTPUTS]
    for root in roots:
        if not root.is_dir():
            raise UserError(f"ntkexp migrate {root}: no such folder")
    lines, moved = [], 0
    for one in migrate(roots, swept_by_themselves()):
        moved += one.now is not None
        lines.append(f"{one.before} -> {one.now.name}" if one.now else f"{one.before}: {one.why}")
    return "\n".join([*lines, f"{moved} migrated, {len(lines) - moved} left as they are"])


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


def _config(run: Path) -> list[str]:
    try:
        return [(run / "config.yaml").read_text(encoding="utf-8").rstrip()]
    except (OSError, UnicodeDecodeError) as error:
        return [f"{run / 'config.yaml'} cannot be read: {error}"]


def _find(name: str, outputs: Path) -> Path:
    if (Path(name) / "status.json").exists():
        return Path(name)
    found = [run for run in runs(outputs) if run.name.startswith(name)]
    if len(found) == 1:
        return found[0]
    if found:
        raise UserError(f"{name} is the beginning of several runs: {', '.join(map(str, found))}")
    raise UserError(f"{name}: no run folder and no run's id under {outputs} (ntkexp list has all)")


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
