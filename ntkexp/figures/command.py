"""`ntkexp figures`: draw every figure that has its runs, and name the commands of the others.

ntkexp figures                       all, from outputs and the reference results
ntkexp figures alignment 2 4         of one paper, by number
ntkexp figures rademacher            by a part of the file's name
ntkexp figures --changed             only where runs or code changed since
"""

from __future__ import annotations

import io
import os
import runpy
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path

from ntkexp.errors import UserError, meant
from ntkexp.figures.drawn import Drawn
from ntkexp.papers.scripts import FIGURES, Script, folder_of, scripts
from ntkexp.results.files import refuse_unwritable
from ntkexp.results.folders import OUTPUTS, roots
from ntkexp.usage import CommandParser

MISSING_RUNS = 3
Outcome = tuple[int, str, str]  # exit code, output and errors of a script
Draw = Callable[[Script], Outcome]


def figures(words: Sequence[str]) -> int:
    """Draw what is asked for. Returns 1 if a script failed; missing runs are no failure."""
    given = parser().parse_intermixed_args(words)
    for folder in given.runs:
        if not folder.is_dir():
            raise UserError(f"--runs {folder}: no such folder")
    refuse_unwritable(given.out)
    record = Drawn(given.out, given.runs or roots(OUTPUTS))
    asked = chosen(given.names, given.paper)
    wanted = [script for script in asked if not (given.changed and record.stands(script))]
    if not wanted:
        print("every figure is as its runs are")
        return 0
    return _draw(wanted, given.runs, given.out, record)


def chosen(names: Sequence[str], paper: str | None = None) -> list[Script]:
    """The scripts of a paper, or of all; of these by number or by name."""
    there = scripts()
    papers = list(dict.fromkeys(script.paper for script in there))
    names = list(names)
    if paper is None and (paper := next((name for name in names if name in papers), None)):
        # The first time alone: it may be part of a figure's name as well.
        names.remove(paper)
    if paper is not None and paper not in papers:
        there_are = ", ".join(papers)
        raise UserError(
            f"--paper {paper}: no figures{meant(paper, papers)}; expected one of {there_are}"
        )
    found = [script for script in there if paper in (None, script.paper)]
    numbers = {script.figure for script in found}
    picked: list[Script] = []
    for name in names:
        a_number = name in numbers or name[:1].isdigit()
        its = [s for s in found if (s.figure == name if a_number else name in s.stem)]
        if not its:
            known = ", ".join(dict.fromkeys(script.figure or script.stem for script in found))
            raise UserError(
                f"ntkexp figures {name}: no such figure{meant(name, papers)}; expected a paper "
                f"({', '.join(papers)}) or one of {known}"
            )
        picked += its
    return [script for script in found if script in picked] if names else found


def _draw(wanted: Sequence[Script], runs: Sequence[Path], out: Path, record: Drawn) -> int:
    drawn, missing, broken = [], [], []
    for script, (code, said, errors) in _outcomes(wanted, partial(_run, runs=runs, out=out)):
        if code == 0:
            drawn.append(script)
            path = next((word for word in said.split() if word.endswith(".pdf")), "")
            print(f"{script.name:<32} {path}", flush=True)
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
    """What became of each script, in their order.

    When a process is killed, the pool does not tell which script it had. What was not drawn until
    then is drawn by a process of its own each.
    """
    with ProcessPoolExecutor(min(len(wanted), os.cpu_count() or 1)) as workers:
        begun = [(script, workers.submit(draw, script)) for script in wanted]
        for script, outcome in begun:
            try:
                yield script, outcome.result()
            except BrokenProcessPool:
                yield script, _alone(draw, script)


def _alone(draw: Draw, script: Script) -> Outcome:
    with ProcessPoolExecutor(1) as worker:
        try:
            return worker.submit(draw, script).result()
        except BrokenProcessPool:
            return 1, "", "its process was killed (out of memory?)"


def _run(script: Script, runs: Sequence[Path], out: Path) -> Outcome:
    """What becomes of a script. It runs in a process that has run others before, so that
    matplotlib is imported already."""
    said, errors = io.StringIO(), io.StringIO()
    sys.argv = [str(script.path), "--out", str(folder_of(script.paper, out))]
    if runs:
        sys.argv += ["--runs", *map(str, runs)]
    code: object = 0
    with redirect_stdout(said), redirect_stderr(errors):
        try:
            runpy.run_path(str(script.path), run_name="__main__")
        except SystemExit as end:
            code = end.code
        except Exception:
            traceback.print_exc()
            code = 1
    return (code if isinstance(code, int) else int(bool(code))), said.getvalue(), errors.getvalue()


def parser() -> CommandParser:
    found = CommandParser("figures")
    found.add_argument("names", nargs="*")
    found.add_argument("--paper")
    found.add_argument("--runs", nargs="+", type=Path, default=[])
    found.add_argument("--out", type=Path, default=FIGURES)
    found.add_argument("--changed", action="store_true")
    return found
