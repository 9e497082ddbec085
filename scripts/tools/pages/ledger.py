"""What the pages of statements and of thresholds have of every claim. The site gets them when it
is built: of each claim what it says with its verdict on the reference results, and the interval in
which it holds with where that is from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from ntkexp.claims.claim import Claim
from ntkexp.claims.ledger import ledger
from ntkexp.claims.verdict import Finding, judge_all
from ntkexp.papers import registry
from ntkexp.results.reading import collect

REFERENCE = Path(__file__).parents[3] / "outputs" / "reference"
Cells = Callable[[Claim], Iterable[str]]


def statements(works: Sequence[str] | None = None) -> str:
    """Every claim of these works, or of all, with its verdict, of two recipes with a stroke between
    them."""
    verdicts: dict[str, list[str]] = {}
    for finding in judge_all(ledger(works), collect([REFERENCE])):
        verdicts.setdefault(finding.claim.id, []).append(_verdict(finding))

    def cells(claim: Claim) -> Iterable[str]:
        return claim.figure or "", claim.says, f"`{claim.id}`", " / ".join(verdicts[claim.id])

    return "\n".join(_tables(("figure", "what it says", "claim", "verdict"), cells, works))


def thresholds() -> str:
    """Every claim with its interval; this needs no runs."""

    def cells(claim: Claim) -> Iterable[str]:
        holds = claim.holds.formatted(claim.unit)
        asked = claim.number, claim.paper, holds, claim.horizon.description, claim.origin
        return f"`{claim.id}`", claim.figure or "", *asked

    names = ("id", "figure", "number", "the paper", "holds if", "horizon", "threshold")
    return "\n".join(_tables(names, cells))


def _verdict(finding: Finding) -> str:
    covered = f" ({finding.covered})" if finding.covered else ""
    return f"{finding.verdict}{covered}"


def _tables(
    names: Sequence[str], cells: Cells, works: Sequence[str] | None = None
) -> Iterator[str]:
    """A table for each paper and section, a row a claim."""
    for paper in works or registry.names():
        claims = ledger([paper])
        for section in dict.fromkeys(claim.section for claim in claims):
            yield f"\n## {registry.paper(paper).title}: {section.lower()}\n"
            yield f"| {' | '.join(names)} |"
            yield "|---" * len(names) + "|"
            for claim in claims:
                if claim.section is section:
                    row = (cell.replace("|", "\\|") for cell in cells(claim))
                    yield f"| {' | '.join(row)} |"
