"""Writes the verdicts on the reference results: the end of docs/verdicts.md, and README's table.

    python -m scripts.document_verdicts

Counted from outputs/reference alone, whatever runs there are besides. Half a minute.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ntkexp.claims.claim import Section
from ntkexp.claims.command import judged, records_of
from ntkexp.claims.rendering import as_summary, works
from ntkexp.claims.verdict import Finding, Verdict
from ntkexp.papers import MAIN

TOP = Path(__file__).parents[1]
REFERENCE = TOP / "outputs" / "reference"
PAGE, README = TOP / "docs" / "verdicts.md", TOP / "README.md"
BEGINNING = "<!-- from here on made by scripts/document_verdicts.py -->"
TABLE, END = "<!-- made by scripts/document_verdicts.py -->", "<!-- end -->"


def main() -> None:
    findings = judged(records_of([REFERENCE]))
    for file, text in written(findings).items():
        file.write_text(text, encoding="utf-8")


def written(findings: Sequence[Finding]) -> dict[Path, str]:
    """The two files as they should be."""
    before, marked, _ = PAGE.read_text(encoding="utf-8").partition(BEGINNING)
    page = f"{before}{marked}\n\n{_lowered(as_summary(findings))}\n"
    head, begun, rest = README.read_text(encoding="utf-8").partition(TABLE)
    readme = f"{head}{begun}\n{_table(findings)}\n{END}{rest.partition(END)[2]}"
    return {PAGE: page, README: readme}


def _lowered(summary: str) -> str:
    """Below the page's title."""
    return summary.strip().replace("### ", "## ")


def _table(findings: Sequence[Finding]) -> str:
    """A row a paper: its own statements, each under its first recipe."""
    rows = [f"| paper | statements | {' | '.join(Verdict)} | why |", "|---|" + "---|" * 6]
    for paper, its in works(findings).items():
        own = [
            finding.verdict
            for finding in its
            if finding.claim.section is Section.paper and finding.recipe == finding.claim.recipes[0]
        ]
        why = "docs/reproduction.md" if paper.name == MAIN else f"docs/{paper.name}/README.md"
        counts = " | ".join(str(own.count(verdict)) for verdict in Verdict)
        rows.append(f"| *{paper.title}* | {len(own)} | {counts} | [page]({why}) |")
    return "\n".join(rows)


if __name__ == "__main__":
    main()
