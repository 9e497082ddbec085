"""Figures, drawn by the scripts of the papers: all that have their runs, or one from any runs."""

from __future__ import annotations

import hashlib
import io
import json
import re
import runpy
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import ntkexp
from ntkexp import projects
from ntkexp.errors import UserError, meant
from ntkexp.machine import cores, end_with_parent
from ntkexp.papers.scripts import Script, folder_of, scripts
from ntkexp.results.files import write_text
from ntkexp.results.folders import runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ntkexp.results.record import Record

KINDS = ("pdf", "png", "svg")
RECORD = "drawn.json"


class Drawn:
    """The record of a folder of figures, `drawn.json`: of each by its script's name the `state` of
    runs, code and files, and whose runs it was drawn `from`."""

    def __init__(self, figures: Path, roots: Sequence[Path]) -> None:
        self.figures, self.inputs = figures, state_of_inputs(roots)
        self.states = drawn_in(figures)

    def stands(self, script: Script) -> bool:
        """True if a figure was drawn from these inputs and not written over since."""
        return self.states.get(script.name, {}).get("state") == self._state(script)

    def add(self, sources: Mapping[Script, str]) -> None:
        new = {
            script.name: {"state": self._state(script), "from": source}
            for script, source in sources.items()
        }
        if new:
            self.states |= new
            write_text(self.figures / RECORD, json.dumps(self.states, indent=1) + "\n")

    def _state(self, script: Script) -> list[object]:
        folder = folder_of(script.paper, self.figures)
        files = [folder / f"{script.stem}.{kind}" for kind in KINDS]
        return [
            self.inputs,
            *(file.stat().st_mtime_ns if file.exists() else None for file in files),
        ]


def drawn_in(figures: Path) -> dict[str, dict[str, Any]]:
    """The record of a folder; nothing of figures that were drawn before it said whose runs."""
    file = figures / RECORD
    try:
        states = dict(json.loads(file.read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError):
        return {}
    except OSError as error:
        raise UserError(f"{file}: cannot be read ({error.strerror}); try again") from error
    return {name: state for name, state in states.items() if isinstance(state, dict)}


def state_of_inputs(roots: Sequence[Path]) -> str:
    """A digest of all that figures come from, runs and code: names, sizes, times of change."""
    homes = {Path(ntkexp.__file__).parent, *(home for _, home in projects.own())}
    homes.update(script.path.parents[1] for script in scripts())
    files = [file for folder in homes for file in folder.rglob("*.py") if file.is_file()]
    for folder in runs(roots):
        for pattern in ("status.json", "config.yaml", "*.parquet"):
            files += folder.glob(pattern)
    facts = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in sorted(files)]
    return hashlib.sha256(repr([version("matplotlib"), facts]).encode()).hexdigest()


MISSING_RUNS = 3
Outcome = tuple[int, str, str]  # exit code, output and errors of a script
Draw = Callable[[Script], Outcome]


def draw(
    paper: str,
    figure: str | int,
    runs: Record | Iterable[Record] | Mapping[str, Iterable[Record]],
    *,
    columns: Sequence[str] = (),
    width: float | None = None,
    style: Path | str | None = None,
) -> Figure:
    """A figure of a paper, drawn from any runs.

    Args:
        runs: one or more, as `ntkexp.run` and `ntkexp.results.read` give them; or some for each
            title.
        columns: the options that tell columns apart; without them all in which the runs differ.
        width: in inches.
        style: a style sheet for matplotlib, over that of the papers' figures.
    """
    (script,) = chosen([str(figure)], paper)
    drawn: Figure = own().figure(script, runs, columns, width, style)
    return drawn


def own() -> ModuleType:
    """The scripts are no part of what the package is made of: they read its results."""
    return import_module("ntkexp.scripts.own")


def chosen(names: Sequence[str], paper: str | None = None) -> list[Script]:
    """The scripts of a paper, or of all; of these by number or by name."""
    existing = scripts()
    papers = list(dict.fromkeys(script.paper for script in existing))
    names = list(names)
    if paper is None and (paper := next((name for name in names if name in papers), None)):
        # The first time alone: it may be part of a figure's name as well.
        names.remove(paper)
    if paper is not None and paper not in papers:
        accepted = ", ".join(papers)
        raise UserError(
            f"--paper {paper}: no figures{meant(paper, papers)}; expected one of {accepted}"
        )
    of_paper = [script for script in existing if paper in (None, script.paper)]
    numbers = {script.figure for script in of_paper}
    picked: list[Script] = []
    for name in names:
        name = re.sub(r"^fig(ure)?0*(?=[\d.]+$)", "", name)
        a_number = name in numbers or name[:1].isdigit()
        matching = [s for s in of_paper if (s.figure == name if a_number else name in s.stem)]
        if not matching:
            choices = [*dict.fromkeys(script.figure or script.stem for script in of_paper)]
            what, accepted = "figure", f"one of {', '.join(choices)}"
            if paper is None:  # all papers together have a hundred figures
                what, accepted = "paper or figure", f"PAPER FIGURE, PAPER of {', '.join(papers)}"
            raise UserError(
                f"ntkexp figures {name}: no such {what}{meant(name, papers)}; expected {accepted}"
            )
        picked += matching
    return [script for script in of_paper if script in picked] if names else of_paper


def draw_all(wanted: Sequence[Script], words: Sequence[str], out: Path, record: Drawn) -> int:
    """Draw them; `words` are those of each script that say from which runs."""
    drawn: dict[Script, str] = {}
    missing, broken = [], []
    for script, (code, output, errors) in _outcomes(wanted, partial(_run, words=words, out=out)):
        if code == 0:
            lines = output.splitlines()
            path = next((line for line in lines if line.endswith(".pdf")), "")
            drawn[script] = next((line for line in lines if line.startswith("from ")), "")
            print(f"{script.name:<32} {path}  {drawn[script]}".rstrip(), flush=True)
        elif code == MISSING_RUNS:
            missing.append((script, errors.strip()))
        else:
            broken.append((script, errors.strip()))
    record.add(drawn)
    for script, message in missing:
        print(f"{script.name:<32} has no runs\n    " + message.replace("\n", "\n    "))
    for script, message in broken:
        print(f"{script.name:<32} FAILED\n{message}", file=sys.stderr)
    print(f"{len(drawn)} drawn, {len(missing)} without runs, {len(broken)} failed")
    return 1 if broken else 0


def _outcomes(wanted: Sequence[Script], draw: Draw) -> Iterator[tuple[Script, Outcome]]:
    """Each script with its outcome, in order.

    When a process is killed, the pool does not tell which script it had. What was not drawn until
    then is drawn by a process of its own each.
    """
    count = min(len(wanted), cores())
    with ProcessPoolExecutor(count, initializer=end_with_parent) as workers:
        begun = [(script, workers.submit(draw, script)) for script in wanted]
        for script, outcome in begun:
            try:
                yield script, outcome.result()
            except BrokenProcessPool:
                yield script, _alone(draw, script)


def _alone(draw: Draw, script: Script) -> Outcome:
    with ProcessPoolExecutor(1, initializer=end_with_parent) as worker:
        try:
            return worker.submit(draw, script).result()
        except BrokenProcessPool:
            return 1, "", "its process was killed (out of memory?)"


def _run(script: Script, words: Sequence[str], out: Path) -> Outcome:
    """Run a script, in a process that has run others before, so that matplotlib is imported
    already."""
    output, errors = io.StringIO(), io.StringIO()
    sys.argv = [str(script.path), "--out", str(folder_of(script.paper, out)), *words]
    code: object = 0
    with redirect_stdout(output), redirect_stderr(errors):
        try:
            runpy.run_path(str(script.path), run_name="__main__")
        except SystemExit as end:
            code = end.code
        except UserError as error:  # a table that cannot be read
            print(error, file=sys.stderr)
            code = 1
        except Exception:
            traceback.print_exc()
            code = 1
    exit_code = code if isinstance(code, int) else int(bool(code))
    return exit_code, output.getvalue(), errors.getvalue()
