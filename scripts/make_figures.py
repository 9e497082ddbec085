"""Draw every figure that has its runs, and name the commands of the others (`make figures`).

python scripts/make_figures.py [2 4 rademacher ...]     only these; default all
python scripts/make_figures.py --changed                only where runs or code changed since
"""

from __future__ import annotations

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
from ntkexp.results.atomic import write_text
from ntkexp.results.folders import runs

HERE = Path(__file__).parent
FIGURES = OUTPUTS / "figures"
# Of every figure drawn, what it was drawn from and when.
RECORD = FIGURES / "drawn.json"
CHANGED = "--changed"
MISSING_RUNS = 3


def scripts(chosen: list[str]) -> list[Path]:
    """The figure scripts, by number or by name: `2` is fig02_*.py."""
    found = sorted(HERE.glob("fig*_*.py"))
    if not chosen:
        return found
    wanted = {f"fig{int(word):02d}" if word.isdigit() else word for word in chosen}
    picked = [path for path in found if any(word in path.stem for word in wanted)]
    if not picked:
        names = ", ".join(path.stem for path in found)
        sys.exit(f"no figure {' '.join(chosen)}; there are {names}")
    return picked


def state_of_inputs() -> str:
    """A digest of all that figures come from, runs and code: names, sizes, times of change."""
    files = [*HERE.glob("*.py"), *Path(ntkexp.__file__).parent.rglob("*.py")]
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


def drawn_as(script: Path, inputs: str) -> list[object]:
    """What the record says of a figure drawn from `inputs` and not written over since."""
    files = [FIGURES / f"{script.stem}.{kind}" for kind in ("pdf", "png", "svg")]
    return [inputs, *(file.stat().st_mtime_ns if file.exists() else None for file in files)]


def run(script: Path) -> tuple[int, str, str]:
    """Exit code, output and errors of a script, run in a process that others were run in before:
    what they import, matplotlib above all, is there already."""
    out, errors = io.StringIO(), io.StringIO()
    sys.argv = [str(script)]
    code: object = 0
    with redirect_stdout(out), redirect_stderr(errors):
        try:
            runpy.run_path(str(script), run_name="__main__")
        except SystemExit as end:
            code = end.code
        except Exception:
            traceback.print_exc()
            code = 1
    return (code if isinstance(code, int) else int(bool(code))), out.getvalue(), errors.getvalue()


def main() -> int:
    drawn, missing, broken = [], [], []
    inputs, record = state_of_inputs(), recorded()
    chosen = scripts([word for word in sys.argv[1:] if word != CHANGED])
    if CHANGED in sys.argv:
        chosen = [
            script for script in chosen if record.get(script.stem) != drawn_as(script, inputs)
        ]
    if not chosen:
        print("every figure is as its runs are")
        return 0
    sys.path.insert(0, str(HERE))  # for the scripts; workers inherit it
    with ProcessPoolExecutor(min(len(chosen), os.cpu_count() or 1)) as workers:
        for script, (code, out, errors) in zip(chosen, workers.map(run, chosen), strict=True):
            if code == 0:
                drawn.append(script)
                path = next((word for word in out.split() if word.endswith(".pdf")), "")
                print(f"{script.stem:<32} {path}", flush=True)
            elif code == MISSING_RUNS:
                missing.append((script, errors.strip()))
            else:
                broken.append((script, errors.strip()))
    if drawn:
        record |= {script.stem: drawn_as(script, inputs) for script in drawn}
        write_text(RECORD, json.dumps(record, indent=1) + "\n")
    for script, told in missing:
        print(f"{script.stem:<32} has no runs\n    " + told.replace("\n", "\n    "))
    for script, told in broken:
        print(f"{script.stem:<32} FAILED\n{told}", file=sys.stderr)
    print(f"{len(drawn)} drawn, {len(missing)} without runs, {len(broken)} failed")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
