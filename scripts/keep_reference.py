"""Copy finished runs into outputs/reference, the results that the repository carries.

python scripts/keep_reference.py [--runs DIR ...] [--out DIR] [EXPERIMENT ...]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ntkexp.results.reference import LIMIT_BYTES, keep, size_bytes


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", nargs="+", type=Path, default=[Path("outputs")])
    parser.add_argument("--out", type=Path, default=Path("outputs/reference"))
    parser.add_argument("experiments", nargs="*", help="only these; default all")
    given = parser.parse_args(argv)
    places = [
        place
        for root in given.runs
        for place in sorted(root.glob("*"))
        if place.is_dir()
        and place.resolve() != given.out.resolve()
        and (not given.experiments or place.name in given.experiments)
    ]
    for copy in keep(places, given.out):
        print(copy)
    size = size_bytes(given.out)
    print(f"{size / 1e6:.1f} MB of {LIMIT_BYTES / 1e6:.0f} MB")
    return 0 if size <= LIMIT_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
