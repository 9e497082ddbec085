"""Writes docs/thresholds.md: of every claim the interval in which it holds, and where that is from.

    python -m scripts.pages.thresholds

It needs no runs. On a page of its own a change of a threshold is seen, and a test asks that the
page says what the ledger does.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ntkexp.claims.claim import Claim
from ntkexp.claims.ledger import ledger
from ntkexp.papers import found

PAGE = Path(__file__).parents[2] / "docs" / "thresholds.md"
COLUMNS = ("id", "figure", "number", "the paper", "holds if", "horizon", "threshold")
INTRO = """\
# Thresholds

With which values each claim holds, and where the interval comes from. A claim is decided only by
runs that came as far as its horizon. What was measured and what a verdict means:
[verdicts](verdicts.md).

**What was fixed beforehand.** The first ledger of the main paper was written from its text, before
runs of its larger networks were kept; Figures 1, 5, 8, 9 and 10 had been drawn, so theirs were not
fixed beforehand. Where the last column says `results had been seen when`, number or interval was
written or changed after that; it says what was asked before, and what that would give on today's
runs if it were another verdict. Horizons came later as well: before, a run decided however far it
had come. For the other papers their pages say it as well ([adaptive](adaptive/README.md),
[lazy](lazy/README.md)).

<!-- made by scripts/pages/thresholds.py -->"""


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")


def page() -> str:
    """The page as it should be."""
    return "\n".join([INTRO, *_tables()]) + "\n"


def _tables() -> Iterator[str]:
    for name in found.names():
        claims = ledger([name])
        for section in dict.fromkeys(claim.section for claim in claims):
            yield f"\n## {found.paper(name).title}: {section.lower()}\n"
            yield f"| {' | '.join(COLUMNS)} |"
            yield "|---" * len(COLUMNS) + "|"
            yield from (_row(claim) for claim in claims if claim.section is section)


def _row(claim: Claim) -> str:
    cells = (
        f"`{claim.id}`",
        claim.figure or "",
        claim.number,
        claim.paper,
        claim.holds.formatted(claim.unit),
        claim.horizon.description,
        claim.origin,
    )
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


if __name__ == "__main__":
    main()
