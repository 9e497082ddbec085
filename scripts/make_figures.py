"""Draw every figure that has its runs, and name the commands of the others (`make figures`).

python scripts/make_figures.py [2 4 rademacher ...]     only these; default all
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
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


def main() -> int:
    drawn, missing, broken = [], [], []
    for script in scripts(sys.argv[1:]):
        done = subprocess.run([sys.executable, script], capture_output=True, text=True)
        if done.returncode == 0:
            drawn.append(script)
            print(f"{script.stem:<32} " + next(iter(done.stdout.split()), ""))
        elif done.returncode == MISSING_RUNS:
            missing.append((script, done.stderr.strip()))
        else:
            broken.append((script, done.stderr.strip()))
    for script, told in missing:
        print(f"{script.stem:<32} has no runs\n    " + told.replace("\n", "\n    "))
    for script, told in broken:
        print(f"{script.stem:<32} FAILED\n{told}", file=sys.stderr)
    print(f"{len(drawn)} drawn, {len(missing)} without runs, {len(broken)} failed")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
