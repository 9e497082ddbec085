"""`ntkexp claims`: the ledger, judged on the runs at hand."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from ntkexp.claims.claim import Claim
from ntkexp.claims.ledger import ledger
from ntkexp.claims.rendering import FORMS, as_text
from ntkexp.claims.verdict import Finding, judge_all
from ntkexp.errors import UserError
from ntkexp.papers.registry import existing, natural
from ntkexp.results.folders import OUTPUTS, roots
from ntkexp.results.reading import collect
from ntkexp.results.record import Record
from ntkexp.usage import parsed


def claims(words: Sequence[str]) -> str:
    """The ledger as the command line asks for it."""
    given = parsed("claims", words)
    of_papers = ledger(None if given.paper is None else [existing(given.paper).name])
    chosen = [
        claim for claim in of_papers if given.figure in (None, *(claim.figure or "").split(", "))
    ]
    if not chosen:
        named = ", ".join(claim.figure for claim in of_papers if claim.figure)
        figures = sorted({*named.split(", ")}, key=natural)
        raise UserError(f"--figure {given.figure}: no claims; expected one of {', '.join(figures)}")
    findings = judged(records_of(given.runs), chosen)
    form = next((form for name, form in FORMS.items() if getattr(given, name)), None)
    return form(findings) if form else as_text(findings, shutil.get_terminal_size().columns)


def records_of(named: Sequence[Path]) -> list[Record]:
    """The runs in the folders that --runs names; without it the user's own and the reference
    runs."""
    for root in named:
        if not root.is_dir():
            raise UserError(f"--runs {root}: no such folder")
    return collect(named or roots(OUTPUTS))


def judged(records: Sequence[Record], claims: Iterable[Claim] | None = None) -> list[Finding]:
    """The verdicts on these claims, on all of the ledger unless told."""
    return judge_all(ledger() if claims is None else claims, records)
