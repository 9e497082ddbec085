"""All claims of a paper, or of every paper, in order of their figures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache

from ntkexp.claims.claim import Claim
from ntkexp.errors import UserError
from ntkexp.papers import found
from ntkexp.papers.found import natural


def ledger(papers: Iterable[str] | None = None) -> tuple[Claim, ...]:
    """The claims of these papers, or of every paper if none is named."""
    chosen = found.names() if papers is None else papers
    return tuple(claim for name in chosen for claim in _of(found.paper(name)))


@cache
def _of(paper: found.Paper) -> tuple[Claim, ...]:
    claims = [
        replace(claim, work=paper.name)
        for module in paper.modules("claims")
        for claim in getattr(module, "CLAIMS", ())
    ]
    seen: set[str] = set()
    for claim in claims:
        if claim.id in seen:
            raise UserError(
                f"{paper.package}: two claims of the id {claim.id}; expected another id"
            )
        seen.add(claim.id)
    return tuple(sorted(claims, key=lambda claim: natural(claim.figure)))
