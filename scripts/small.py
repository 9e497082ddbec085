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
    parser.add_argument("--paper", choices=sorted({exp.paper for exp in experiments()}))
    parser.add_argument("--dry-run", action="store_true")
    options = parser.parse_args(argv)
    for experiment in experiments():
        if experiment.command == "train" and options.paper in (None, experiment.paper):
            line = f"{experiment.line} scale=small"
            if not options.dry_run and not at_hand(experiment.name):
                print(f"left out, its images are not here: {line}", flush=True)
                continue
            print(line, flush=True)
            code = 0 if options.dry_run else subprocess.call([sys.executable, "-m", *line.split()])
            if code:
                return code
    return 0


def at_hand(experiment: str) -> bool:
    """True if the images of an experiment are here, or can be fetched."""
    if experiment not in BY_HAND:
        return True
    data = components.find("data", BY_HAND[experiment])()
    assert isinstance(data, Data)
    return bool(data.files())


if __name__ == "__main__":
    sys.exit(main())
