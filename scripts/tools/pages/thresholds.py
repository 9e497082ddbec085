"""The tables of the page of thresholds: of every claim the interval in which it holds, and where
that is from. The site gets them when it is built; they need no runs.
"""

from __future__ import annotations

from collections.abc import Iterator

from ntkexp.claims.claim import Claim
from ntkexp.claims.ledger import ledger
from ntkexp.papers import registry

COLUMNS = ("id", "figure", "number", "the paper", "holds if", "horizon", "threshold")


def tables() -> str:
    """The tables of every paper and section, as Markdown."""
    return "\n".join(_tables())


def _tables() -> Iterator[str]:
    for name in registry.names():
        claims = ledger([name])
        for section in dict.fromkeys(claim.section for claim in claims):
            yield f"\n## {registry.paper(name).title}: {section.lower()}\n"
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
