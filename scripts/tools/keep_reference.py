"""Copy finished runs into outputs/reference, the results that the repository carries.

python scripts/tools/keep_reference.py [--runs DIR ...] [--out DIR] [--begun] [--tables NAME ...]
                                 [-- EXPERIMENT[/ID] ...]

--begun: also what runs that still go on have committed, marked with the iteration they came to.
They may go on meanwhile; the same command later takes what was added.
--tables: of finished runs these tables alone; without it, all that a figure or a claim reads.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ntkexp.errors import UserError
from ntkexp.results.status import read_status
from ntkexp.scripts.tools.keeping import LIMIT_BYTES, keep, keep_begun, size_bytes


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", nargs="+", type=Path, default=[Path("outputs")])
    parser.add_argument("--out", type=Path, default=Path("outputs/reference"))
    parser.add_argument("--begun", action="store_true", help="also runs that still go on")
    parser.add_argument("--tables", nargs="+", metavar="NAME", help="these tables alone")
    parser.add_argument("experiments", nargs="*", help="only these; default all")
    options = parser.parse_args(argv)
    names = options.experiments or ["*"]
    matches = {place for root in options.runs for name in names for place in root.glob(name)}
    places = sorted(p for p in matches if p.is_dir() and p.resolve() != options.out.resolve())
    try:
        for copy in keep(places, options.out, options.tables):
            print(copy)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    if options.begun:
        for copy in keep_begun(places, options.out):
            print(f"{copy}: kept at {(read_status(copy) or {})['kept_at']:,}")
    size = size_bytes(options.out)
    print(f"{size / 1e6:.1f} MB of {LIMIT_BYTES / 1e6:.0f} MB")
    return 0 if size <= LIMIT_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
