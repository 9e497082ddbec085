"""Where runs lie: outputs/<experiment>/<id>, and an experiment's name may have one slash.

A folder is a run if it holds a status.json. The reference results that come with ntkexp are
outputs/reference of the repository, installed as `ntkexp.reference`; an outputs/reference of the
working folder counts in their place. `NTKEXP_REFERENCE` names another folder; empty, none.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from ntkexp.errors import UserError
from ntkexp.home import at_home
from ntkexp.results.status import STATUS

OUTPUTS = Path("outputs")
REFERENCE = "reference"
VARIABLE = "NTKEXP_REFERENCE"
# From the folder of outputs down to a run whose experiment has a slash in its name.
DEEPEST = 3


def runs(paths: Iterable[Path | str] | Path | str) -> list[Path]:
    """Every run folder at or under `paths`, whatever its state, those of the first path first;
    `reference` only if it is named."""
    given = [paths] if isinstance(paths, str | Path) else paths
    roots = [Path(at_home(path)) for path in given]
    return list(dict.fromkeys(run for root in roots for run in sorted(_below(root, DEEPEST))))


def with_name(folder: Path) -> Path:
    """The folder by a path that ends in its name, which is a run's id: `.` does not."""
    return folder.resolve() if folder.name in ("", "..") else folder


def _below(folder: Path, depth: int) -> Iterator[Path]:
    """The runs at or below a folder. What lies inside of a run is no run.

    A folder that cannot be read is refused where it was asked for. Below that it is left out, and
    a line on standard error says so.
    """
    try:
        if (folder / STATUS).exists():
            yield with_name(folder)
            return
        folders = _folders(folder) if depth else []
    except OSError as error:
        unread = f"{folder}: cannot be read ({error.strerror})"
        if depth == DEEPEST:
            raise UserError(unread) from error
        print(f"skipped: {unread}", file=sys.stderr)
        return
    for inner in folders:
        if depth < DEEPEST or inner.name != REFERENCE:
            yield from _below(inner, depth - 1)


def _folders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [Path(entry.path) for entry in entries if entry.is_dir()]
    except (FileNotFoundError, NotADirectoryError):
        return []


def found(name: str) -> Path:
    """A run by its folder, or by the beginning of its id."""
    if (Path(name) / STATUS).exists():
        return with_name(Path(name))
    places = [run for root in roots(OUTPUTS) for run in runs(root)]
    # A reference run that one has made oneself is one's own.
    ids = {run.name: run for run in reversed(places) if name and run.name.startswith(name)}
    matching = sorted(ids.values())
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise UserError(f"{name} is the beginning of several runs: {', '.join(map(str, matching))}")
    given = name or "ntkexp show ''"
    raise UserError(f"{given}: no run folder and no run's id under {OUTPUTS} (ntkexp list has all)")


def packaged() -> Path | None:
    """The folder of the reference results that are installed."""
    named = os.environ.get(VARIABLE)
    if named is not None:
        if named and not Path(named).is_dir():
            raise UserError(f"{VARIABLE}={named}: no such folder; expected one of runs, or nothing")
        return Path(named) if named else None
    spec = importlib.util.find_spec("ntkexp.reference")
    folders = spec.submodule_search_locations if spec else None
    return Path(next(iter(folders))) if folders else None


def roots(outputs: Path) -> list[Path]:
    """The folders that runs are read from unless told: a user's own first, then the reference."""
    reference, installed = outputs / REFERENCE, packaged()
    if reference.is_dir() or installed is None:
        return [outputs, reference]
    return [outputs, installed]
