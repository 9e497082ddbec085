"""Draw every figure that has its runs, and name the commands of the others (`make figures`).

python scripts/make_figures.py [2 4 rademacher ...]         only these; default all
python scripts/make_figures.py --paper lazy [5.2 ...]       of one paper
python scripts/make_figures.py --changed                    only where runs or code changed since
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import runpy
import sys
import traceback
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from importlib.metadata import version
from pathlib import Path

import ntkexp
from ntkexp.catalogue import OUTPUTS, REFERENCE
from ntkexp.papers.scripts import FIGURES, Script, folder_of, scripts
from ntkexp.projects import own
from ntkexp.results.atomic import write_text
from ntkexp.results.folders import runs

# Of every figure drawn, what it was drawn from and when.
RECORD = FIGURES / "drawn.json"
MISSING_RUNS = 3


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("figures", nargs="*", help="numbers, or parts of names; default all")
    parser.add_argument("--paper", choices=sorted({one.paper for one in scripts()}))
    parser.add_argument("--changed", action="store_true", help="only where inputs changed since")
    return parser.parse_args()


def chosen(figures: list[str], paper: str | None) -> list[Script]:
    """The scripts of a paper, or of all; by number or by name."""
    found = [script for script in scripts() if paper in (None, script.paper)]
    if not figures:
        return found
    numbers = {script.figure for script in found}
    picked = [
        script
        for script in found
        if any(
            word == script.figure if word in numbers else word in script.stem for word in figures
        )
    ]
    if not picked:
        names = ", ".join(script.figure or script.stem for script in found)
        sys.exit(f"no figure {' '.join(figures)}; there are {names}")
    return picked


def state_of_inputs() -> str:
    """A digest of all that figures come from, runs and code: names, sizes, times of change."""
    folders = {Path(ntkexp.__file__).parent, Path(__file__).parent, *(home for _, home in own())}
    files = [file for folder in folders for file in folder.rglob("*.py")]
    for folder in runs([OUTPUTS, REFERENCE]):
        for pattern in ("status.json", "config.yaml", "*.parquet"):
            files += folder.glob(pattern)
    facts = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in sorted(files)]
    return hashlib.sha256(repr([version("matplotlib"), facts]).encode()).hexdigest()


def recorded() -> dict[str, list[object]]:
    try:
        return dict(json.loads(RECORD.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def drawn_as(script: Script, inputs: str) -> list[object]:
    """What the record says of a figure drawn from `inputs` and not written over since."""
    folder = folder_of(script.paper)
    files = [folder / f"{script.stem}.{kind}" for kind in ("pdf", "png", "svg")]
    return [inputs, *(file.stat().st_mtime_ns if file.exists() else None for file in files)]


def run(script: Script) -> tuple[int, str, str]:
    """Exit code, output and errors of a script, run in a process that others were run in before:
    what they import, matplotlib above all, is there already."""
    out, errors = io.StringIO(), io.StringIO()
    sys.argv = [str(script.path)]
    code: object = 0
    with redirect_stdout(out), redirect_stderr(errors):
        try:
            runpy.run_path(str(script.path), run_name="__main__")
        except SystemExit as end:
            code = end.code
        except Exception:
            traceback.print_exc()
            code = 1
    return (code if isinstance(code, int) else int(bool(code))), out.getvalue(), errors.getvalue()


def main() -> int:
    drawn, missing, broken = [], [], []
    given = arguments()
    inputs, record = state_of_inputs(), recorded()
    wanted = [
        script
        for script in chosen(given.figures, given.paper)
        if not (given.changed and record.get(script.name) == drawn_as(script, inputs))
    ]
    if not wanted:
        print("every figure is as its runs are")
        return 0
    with ProcessPoolExecutor(min(len(wanted), os.cpu_count() or 1)) as workers:
        for script, (code, out, errors) in zip(wanted, workers.map(run, wanted), strict=True):
            if code == 0:
                drawn.append(script)
                path = next((word for word in out.split() if word.endswith(".pdf")), "")
                print(f"{script.name:<32} {path}", flush=True)
            elif code == MISSING_RUNS:
                missing.append((script, errors.strip()))
            else:
                broken.append((script, errors.strip()))
    if drawn:
        record |= {script.name: drawn_as(script, inputs) for script in drawn}
        write_text(RECORD, json.dumps(record, indent=1) + "\n")
    for script, told in missing:
        print(f"{script.name:<32} has no runs\n    " + told.replace("\n", "\n    "))
    for script, told in broken:
        print(f"{script.name:<32} FAILED\n{told}", file=sys.stderr)
    print(f"{len(drawn)} drawn, {len(missing)} without runs, {len(broken)} failed")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
