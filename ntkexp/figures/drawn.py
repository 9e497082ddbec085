"""A record of what each figure was drawn from: one whose runs and code are the same stays."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path

import ntkexp
from ntkexp import projects
from ntkexp.errors import UserError
from ntkexp.papers.scripts import Script, folder_of, scripts
from ntkexp.results.files import write_text
from ntkexp.results.folders import runs

KINDS = ("pdf", "png", "svg")


class Drawn:
    """The record of a folder of figures, `drawn.json`."""

    def __init__(self, figures: Path, roots: Sequence[Path]) -> None:
        self.figures, self.inputs = figures, state_of_inputs(roots)
        self.file = figures / "drawn.json"
        try:
            self.states = dict(json.loads(self.file.read_text(encoding="utf-8")))
        except (FileNotFoundError, ValueError):
            self.states = {}
        except OSError as error:
            raise UserError(f"{self.file}: cannot be read ({error.strerror}); try again") from error

    def stands(self, script: Script) -> bool:
        """Says whether a figure was drawn from these inputs and not written over since."""
        return bool(self.states.get(script.name) == self._state(script))

    def add(self, scripts: Iterable[Script]) -> None:
        new = {script.name: self._state(script) for script in scripts}
        if new:
            self.states |= new
            write_text(self.file, json.dumps(self.states, indent=1) + "\n")

    def _state(self, script: Script) -> list[object]:
        folder = folder_of(script.paper, self.figures)
        files = [folder / f"{script.stem}.{kind}" for kind in KINDS]
        return [
            self.inputs,
            *(file.stat().st_mtime_ns if file.exists() else None for file in files),
        ]


def state_of_inputs(roots: Sequence[Path]) -> str:
    """A digest of all that figures come from, runs and code: names, sizes, times of change."""
    homes = {Path(ntkexp.__file__).parent, *(home for _, home in projects.own())}
    homes.update(script.path.parents[1] for script in scripts())
    files = [file for folder in homes for file in folder.rglob("*.py")]
    for folder in runs(roots):
        for pattern in ("status.json", "config.yaml", "*.parquet"):
            files += folder.glob(pattern)
    facts = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in sorted(files)]
    return hashlib.sha256(repr([version("matplotlib"), facts]).encode()).hexdigest()
