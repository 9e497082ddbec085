"""Every training experiment in miniature, one after the other (`make small`).

python scripts/small.py                   until one fails; what is done already is skipped
python scripts/small.py --paper lazy      of one paper
python scripts/small.py --dry-run         only prints the commands
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence

from ntkexp.experiments import experiments


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--paper", choices=sorted({known.paper for known in experiments()}))
    parser.add_argument("--dry-run", action="store_true")
    given = parser.parse_args(argv)
    for known in experiments():
        if known.command == "train" and given.paper in (None, known.paper):
            line = f"{known.line} scale=small"
            print(line, flush=True)
            code = 0 if given.dry_run else subprocess.call([sys.executable, "-m", *line.split()])
            if code:
                return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
