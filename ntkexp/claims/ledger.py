"""All claims of a paper, or of every paper, in order of their figures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache

from ntkexp.claims.claim import Claim
from ntkexp.errors import UserError
from ntkexp.papers import registry
from ntkexp.papers.registry import natural


def ledger(papers: Iterable[str] | None = None) -> tuple[Claim, ...]:
    """The claims of these papers, or of every paper if none is named."""
    chosen = registry.names() if papers is None else papers
    return tuple(claim for name in chosen for claim in _of(registry.paper(name)))


@cache
def _of(paper: registry.Paper) -> tuple[Claim, ...]:
    claims = [
        replace(claim, work=paper.name)
        for module in paper.modules("claims")
        for claim in getattr(module, "CLAIMS", ())
    ]
    ids: set[str] = set()
    for claim in claims:
        if claim.id in ids:
            raise UserError(
                f"{paper.package}: two claims of the id {claim.id}; expected another id"
            )
        ids.add(claim.id)
    return tuple(sorted(claims, key=lambda claim: natural(claim.figure)))
