"""Where runs lie: outputs/<experiment>/<id>, and an experiment's name may have one slash.

    outputs/disk/c57568321b89/              a run of `disk`
    outputs/lazy/yin_yang/07607e78403c/     a run of `lazy/yin_yang`
    outputs/reference/...                   a store below the store, of runs kept from elsewhere

A folder is a run if it holds a status.json. Imports no pandas.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from ntkexp.errors import UserError

STATUS = "status.json"
OUTPUTS = Path("outputs")
REFERENCE = "reference"
# From the folder of outputs down to a run whose experiment has a slash in its name.
DEEPEST = 3


def runs(paths: Iterable[Path | str] | Path | str) -> list[Path]:
    """Every run folder at or under `paths`, whatever its state; `reference` only if it is named."""
    roots = [Path(paths)] if isinstance(paths, str | Path) else [Path(path) for path in paths]
    return sorted({run for root in roots for run in _below(root, DEEPEST)})


def _below(folder: Path, depth: int) -> Iterator[Path]:
    """The runs at or below a folder. What lies inside of a run is no run.

    A folder that cannot be read is refused where it was asked for. Below that it is left out, and
    a line on standard error says so.
    """
    try:
        if (folder / STATUS).exists():
            yield folder
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
