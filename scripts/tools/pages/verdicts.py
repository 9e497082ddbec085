"""Writes the end of docs/verdicts.md: the verdicts on the reference results, counted.

    python -m scripts.tools.pages.verdicts

Of outputs/reference alone, whatever runs there are besides. Half a minute.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import get_args

from ntkexp.claims.claim import Chosen, Section
from ntkexp.claims.ledger import ledger
from ntkexp.claims.rendering import as_summary, works
from ntkexp.claims.verdict import Finding, Verdict, judge_all
from ntkexp.experiments import MAIN
from ntkexp.results.reading import collect

TOP = Path(__file__).parents[3]
REFERENCE = TOP / "outputs" / "reference"
PAGE = TOP / "docs" / "verdicts.md"
BEGINNING = "<!-- from here on made by scripts/tools/pages/verdicts.py -->"
FULL = "paper"


def main() -> None:
    PAGE.write_text(written(judge_all(ledger(), collect([REFERENCE]))), encoding="utf-8")


def written(findings: Sequence[Finding]) -> str:
    """The page as it should be."""
    before, marked, _ = PAGE.read_text(encoding="utf-8").partition(BEGINNING)
    return f"{before}{marked}\n\n{counted(findings)}\n\n{_lowered(as_summary(findings))}\n"


def _lowered(summary: str) -> str:
    """Below the page's title: the counts of each kind of claim, without its table of figures."""
    lines = [line for line in summary.splitlines() if not line.startswith("|")]
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines))
    return text.strip().replace("### ", "## ")


def counted(findings: Sequence[Finding]) -> str:
    """A row a paper: its own statements, each under its first recipe; how many were judged without
    runs of some of their experiments, how many stand on full size alone, and the figures of the
    others."""
    head = ("paper", "statements", *Verdict, "rule fixed before, after a pilot, after",
            "some runs missing", "at full size", "smaller", "why")  # fmt: skip
    rows = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for paper, of_paper in works(findings).items():
        statements = [
            finding
            for finding in of_paper
            if finding.claim.section is Section.paper and finding.recipe == finding.claim.recipes[0]
        ]
        why = "reproduction.md" if paper.name == MAIN else f"{paper.name}/README.md"
        verdicts = [finding.verdict for finding in statements]
        counts = " | ".join(str(verdicts.count(verdict)) for verdict in Verdict)
        partial = sum(bool(finding.covered) for finding in statements)
        full = sum(finding.scale == FULL for finding in statements)
        smaller = [finding for finding in statements if finding.scale not in (FULL, "")]
        chosen = [finding.claim.chosen for finding in statements]
        fixed = ", ".join(str(chosen.count(when)) for when in get_args(Chosen))
        cells = (f"*{paper.title}*", str(len(statements)), counts, fixed, str(partial), str(full),
                 _figures(smaller) or "none", f"[page]({why})")  # fmt: skip
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def _figures(findings: Iterable[Finding]) -> str:
    names = (finding.claim.figure or "the text" for finding in findings)
    return ", ".join(dict.fromkeys(", ".join(names).split(", ")))


if __name__ == "__main__":
    main()
