"""Figure numbers are strings, as papers have them: "2", "5.1", "A.3", "table 1"."""

from __future__ import annotations

import re

Place = tuple[tuple[int, int, str], ...]


def natural(number: str | None) -> Place:
    """Sorts numbers by their size, before words; what has no number comes last.

    >>> sorted(["C", "5.10", "10", "5.2", "table 1", None, "9"], key=natural)
    ['5.2', '5.10', '9', '10', 'C', 'table 1', None]
    """
    if number is None:
        return ((2, 0, ""),)
    parts = re.findall(r"\d+|\D+", number)
    return tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts)


def named(number: str) -> str:
    """What a text calls it.

    >>> named("5.1"), named("table 1")
    ('Figure 5.1', 'Table 1')
    """
    return number.capitalize() if number[:1].islower() else f"Figure {number}"
