"""What there is: the experiments one can run, and the runs one has. Imports no torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ntkexp.errors import UserError
from ntkexp.experiments import Experiment, experiments, swept_by_themselves
from ntkexp.results.commits import DamagedRunError
from ntkexp.results.facts import last_life
from ntkexp.results.lock import held
from ntkexp.results.status import read_status

OUTPUTS = Path("outputs")
REFERENCE = OUTPUTS / "reference"


def overview(words: Sequence[str], outputs: Path = OUTPUTS) -> str:
    """One line an experiment, and below it one a run."""
    if words:
        raise UserError(f"ntkexp list takes nothing, got {' '.join(words)}")
    known = experiments()
    first = max(len(experiment.line) for experiment in known)
    second = max(len(_figures(experiment)) for experiment in known)
    lines = []
    for experiment in known:
        lines.append(
            f"{experiment.line:<{first}}  {_figures(experiment):<{second}}  {experiment.about}"
        )
        lines += [f"    {line}" for line in _runs(outputs / experiment.name)]
    for folder in sorted(path for path in outputs.glob("*") if path.is_dir()):
        runs = list(_runs(folder)) if folder.name not in {one.name for one in known} else []
        if runs:
            lines += [f"{folder}  (no experiment of this name here)", *(f"    {r}" for r in runs)]
    return "\n".join(lines)


def _figures(experiment: Experiment) -> str:
    return f"Fig {', '.join(map(str, experiment.figures))}" if experiment.figures else ""


def _runs(folder: Path) -> Iterator[str]:
    for status in sorted(folder.glob("*/status.json")):
        run = status.parent
        try:
            found = read_status(run)
        except DamagedRunError as error:
            yield f"{run}  damaged: {error}"
            continue
        if found is not None:
            reason = f"  {found['reason']}" if "reason" in found else ""
            yield f"{run}  {_state(run, found)}  {found.get('time', '')}{reason}"


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
    found = [status.parent for status in outputs.glob(f"*/{name}*/status.json")]
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
    if isinstance(value, dict) and "diff" in value:
        changed = value["diff"].count("\n+") + value["diff"].count("\n-")
        return f"{value['sha']}" + (f" and {changed} changed lines" if changed else "")
    if isinstance(value, dict):
        return ", ".join(f"{k} {v}" for k, v in value.items())
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
