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

from ntkexp import components
from ntkexp.data.base import Data
from ntkexp.experiments import experiments

# Experiments on images that nothing fetches: they are left out where those are not at hand.
BY_HAND = {"lazy/celeba": "celeba", "lazy/waterbirds": "waterbirds"}


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
            if not given.dry_run and not at_hand(known.name):
                print(f"left out, its images are not here: {line}", flush=True)
                continue
            print(line, flush=True)
            code = 0 if given.dry_run else subprocess.call([sys.executable, "-m", *line.split()])
            if code:
                return code
    return 0


def at_hand(experiment: str) -> bool:
    """Whether the images of an experiment are here, or can be fetched."""
    if experiment not in BY_HAND:
        return True
    data = components.find("data", BY_HAND[experiment])()
    assert isinstance(data, Data)
    return bool(data.files())


if __name__ == "__main__":
    sys.exit(main())
