"""`ntkexp claims`: the ledger, judged on the runs at hand."""

import sys
from dataclasses import dataclass
from pathlib import Path

from ntkexp.commands.command import RUNS, Command, flag
from ntkexp.errors import UserError


@dataclass(eq=False, repr=False)
class Claims(Command):
    """does it reproduce? every claim, its verdict"""

    call = "claims [--paper NAME] [--figure N] [--runs DIR ...] [--json | --markdown | --summary]"
    short = "claims [--paper NAME] [--json]"

    paper: str | None = flag("of one paper", "NAME")
    figure: str | None = flag("of one figure", "N")
    runs: list[Path] = flag(RUNS, "DIR ...")
    json: bool = flag("everything of each claim, for other programs")
    markdown: bool = flag("as a table")
    summary: bool = flag("how many hold, and no more")

    def execute(self) -> str:
        from shutil import get_terminal_size

        from ntkexp.claims.ledger import ledger
        from ntkexp.claims.rendering import FORMS, as_text
        from ntkexp.claims.verdict import judge_all
        from ntkexp.papers.registry import existing, natural
        from ntkexp.results.folders import OUTPUTS, roots
        from ntkexp.results.reading import collect
        from ntkexp.results.select import whose

        of_papers = ledger(None if self.paper is None else [existing(self.paper).name])
        chosen = [
            claim for claim in of_papers if self.figure in (None, *(claim.figure or "").split(", "))
        ]
        if not chosen:
            named = ", ".join(claim.figure for claim in of_papers if claim.figure)
            figures = sorted({*named.split(", ")}, key=natural)
            accepted = ", ".join(figures)
            raise UserError(f"--figure {self.figure}: no claims; expected one of {accepted}")
        if self.figure and len(works := {claim.work: None for claim in chosen}) > 1:
            told = f"Figure {self.figure} of {', '.join(works)}: --paper NAME for that of one"
            print(told, file=sys.stderr)
        findings = judge_all(chosen, collect(self.runs or roots(OUTPUTS)))
        form = next((form for name, form in FORMS.items() if getattr(self, name)), None)
        if form:
            return form(findings)
        judged_on = whose((run for one in findings for run in one.records), roots(OUTPUTS)[1])
        decided = [f"decided by {judged_on}"] if judged_on else []
        return "\n".join([as_text(findings, get_terminal_size().columns), *decided])
