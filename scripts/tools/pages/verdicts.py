"""Writes the verdicts on the reference results wherever the documentation has them.

    python -m scripts.tools.pages.verdicts

The end of docs/verdicts.md, README's table, and the verdicts in docs/statements.md. Counted from
outputs/reference alone, whatever runs there are besides. A few seconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from ntkexp.claims.claim import Section
from ntkexp.claims.ledger import ledger
from ntkexp.claims.rendering import as_summary, works
from ntkexp.claims.verdict import Finding, Verdict, judge_all
from ntkexp.experiments import MAIN
from ntkexp.results.reading import collect

TOP = Path(__file__).parents[3]
REFERENCE = TOP / "outputs" / "reference"
PAGE, README = TOP / "docs" / "verdicts.md", TOP / "README.md"
STATEMENTS = TOP / "docs" / "statements.md"
BEGINNING = "<!-- from here on made by scripts/tools/pages/verdicts.py -->"
TABLE, END = "<!-- made by scripts/tools/pages/verdicts.py -->", "<!-- end -->"
FULL = "paper"
# The verdicts on one claim: `fig02-t40`: fails / fails (2 of 3 experiments)
ONE = rf"(?:{'|'.join(Verdict)})(?: \(\d+ of \d+ experiments\))?"
JUDGED = re.compile(rf"`([a-z0-9-]+)`: {ONE}(?: / {ONE})*")


def main() -> None:
    findings = judge_all(ledger(), collect([REFERENCE]))
    for file, text in written(findings).items():
        file.write_text(text, encoding="utf-8")


def written(findings: Sequence[Finding]) -> dict[Path, str]:
    """The files as they should be."""
    before, marked, _ = PAGE.read_text(encoding="utf-8").partition(BEGINNING)
    page = f"{before}{marked}\n\n{_lowered(as_summary(findings))}\n"
    of_main = [finding for finding in findings if finding.claim.work == MAIN]
    return {
        PAGE: page,
        README: _with_table(README, counted(findings)),
        STATEMENTS: with_verdicts(STATEMENTS.read_text(encoding="utf-8"), of_main),
    }


def statements() -> list[str]:
    """The ids of the claims that docs/statements.md names, as often as it does."""
    return JUDGED.findall(STATEMENTS.read_text(encoding="utf-8"))


def _lowered(summary: str) -> str:
    """Below the page's title: the counts of each kind of claim, without its table of figures."""
    lines = [line for line in summary.splitlines() if not line.startswith("|")]
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines))
    return text.strip().replace("### ", "## ")


def _with_table(file: Path, table: str) -> str:
    head, begun, rest = file.read_text(encoding="utf-8").partition(TABLE)
    return f"{head}{begun}\n{table}\n{END}{rest.partition(END)[2]}"


def counted(findings: Sequence[Finding]) -> str:
    """A row a paper: its own statements, each under its first recipe; how many were judged without
    runs of some of their experiments, how many stand on full size alone, and the figures of the
    others."""
    head = ("paper", "statements", *Verdict, "some runs missing", "at full size", "smaller", "why")
    rows = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for paper, of_paper in works(findings).items():
        statements = [
            finding
            for finding in of_paper
            if finding.claim.section is Section.paper and finding.recipe == finding.claim.recipes[0]
        ]
        why = "docs/reproduction.md" if paper.name == MAIN else f"docs/{paper.name}/README.md"
        verdicts = [finding.verdict for finding in statements]
        counts = " | ".join(str(verdicts.count(verdict)) for verdict in Verdict)
        partial = sum(bool(finding.covered) for finding in statements)
        full = sum(finding.scale == FULL for finding in statements)
        smaller = [finding for finding in statements if finding.scale not in (FULL, "")]
        cells = (f"*{paper.title}*", str(len(statements)), counts, str(partial), str(full),
                 _figures(smaller) or "none", f"[page]({why})")  # fmt: skip
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def _figures(findings: Iterable[Finding]) -> str:
    names = (finding.claim.figure or "the text" for finding in findings)
    return ", ".join(dict.fromkeys(", ".join(names).split(", ")))


def with_verdicts(page: str, findings: Iterable[Finding]) -> str:
    """The page with the verdicts there are now, of several recipes with a stroke between."""
    by_claim: dict[str, list[str]] = {}
    for finding in findings:
        covered = f" ({finding.covered})" if finding.covered else ""
        by_claim.setdefault(finding.claim.id, []).append(f"{finding.verdict}{covered}")
    return JUDGED.sub(lambda match: f"`{match[1]}`: {' / '.join(by_claim[match[1]])}", page)


if __name__ == "__main__":
    main()
