"""How many examples probes look at: as many as were chosen; else 100, or all of fewer."""

from __future__ import annotations

import sys
from functools import cache

from ntkexp.errors import UserError


def settle_for(there: int, wanted: int, which: str, *, strict: bool) -> None:
    """Say that probes look at fewer examples than `probing.examples`, or refuse it."""
    if there >= wanted:
        return
    if strict or not there:
        raise UserError(
            f"probing.examples={wanted}: there are {there} {which} examples; "
            "expected at most that many"
        )
    _say(f"probing.examples={wanted}: there are {there} {which} examples; all are looked at")


@cache  # once, not for every network of a run
def _say(line: str) -> None:
    print(line, file=sys.stderr)
