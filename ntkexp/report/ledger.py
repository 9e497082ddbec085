"""The claims as a table that the verdicts above it filter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ntkexp.claims.claim import Claim
from ntkexp.claims.rendering import (
    ABOUT,
    commands,
    notes,
    recipe_note,
    row,
    sections,
    summary,
    works,
)
from ntkexp.claims.verdict import Finding, Verdict
from ntkexp.experiments import MAIN
from ntkexp.report.sheets import code, folded, text

# (paper, number of a figure) -> its id on the page
Drawn = Mapping[tuple[str, str | None], str]
HEADS = ("Figure", "Claim", "Paper", "Holds if", "Measured", "Verdict", "Scale")
EXPLAINED = (
    "A claim holds <em>partly</em> when it does for some of its seeds or panels; <em>not "
    "decidable</em>: two readings of its sentence differ, or a number of its runs tells that they "
    "cannot decide it; <em>no runs</em>: none came far enough. <em>narrow</em> is a convolutional "
    "net of fewer channels, <em>stand-in</em> a smaller network or other data than the paper's, "
    "<em>small</em> a miniature. Verdicts are computed."
)


def ledger(findings: Sequence[Finding], drawn: Drawn) -> str:
    """The HTML of all claims. `drawn` tells under which id a figure stands on the page."""
    of_works = "".join(
        f'<section class="ledger"><h3 id="claims-{work.name}">{text(work.title)}</h3>'
        f"{_sections(of_work, drawn)}</section>"
        for work, of_work in works(findings).items()
    )
    return (
        f"<p>{EXPLAINED}</p>{_tally(findings)}{of_works}"
        + folded("About the runs", map(text, notes(findings)))
        + folded("Commands that make the missing runs", map(code, commands(findings)))
    )


def _sections(findings: Sequence[Finding], drawn: Drawn) -> str:
    return "".join(
        f'<div class="part"><h4>{text(section.value)}</h4>'
        f"<p>{text(ABOUT[section])} {text(summary(members))}.</p>{_table(members, drawn)}</div>"
        for section, members in sections(findings).items()
    )


def _table(findings: Sequence[Finding], drawn: Drawn) -> str:
    heads = "".join(f"<th>{name}</th>" for name in HEADS)
    rows = "\n".join(_claim(finding, drawn) for finding in findings)
    return (
        f'<div class="scroll"><table class="claims"><thead><tr>{heads}</tr></thead>'
        f"<tbody>\n{rows}\n</tbody></table></div>"
    )


def _tally(findings: Sequence[Finding]) -> str:
    counts = {
        verdict: sum(finding.verdict is verdict for finding in findings) for verdict in Verdict
    }
    buttons = "".join(
        f'<button type="button" aria-pressed="false" data-verdict="{_class(verdict)}">'
        f'<span class="verdict {_class(verdict)}">{count}</span> {verdict}</button>'
        for verdict, count in counts.items()
    )
    return (
        f'<div class="tally" role="group" aria-label="Filter by verdict">{buttons}'
        f'<span class="soft small" id="tally-told" role="status">{len(findings)} shown</span></div>'
    )


def _class(verdict: Verdict) -> str:
    return verdict.replace(" ", "-")


def _claim(finding: Finding, drawn: Drawn) -> str:
    claim, kind = finding.claim, _class(finding.verdict)
    other = "" if finding.recipe == claim.recipes[0] else f"-{finding.recipe}"
    cells = {name: text(cell) for name, cell in row(finding).items()}
    figure = cells["figure"]
    first = (claim.figure or "").split(", ")[0]
    if (claim.work, first) in drawn:
        figure = f'<a href="#{drawn[claim.work, first]}">{figure}</a>'
    named = "".join(
        f'<td class="wide {name.replace(" ", "-")}" data-name="{name.capitalize()}">{cells[name]}'
        "</td>"
        for name in ("paper", "holds if", "measured")
    )
    return (
        f'<tr id="{_id(claim)}{other}" data-verdict="{kind}">'
        f'<td data-name="Figure">{figure}</td>'
        f'<td class="wide">{text(claim.says)}<br>'
        f'<span class="soft small">{text(_details(finding))}</span></td>{named}'
        f'<td><span class="verdict {kind}">{finding.verdict}</span></td>'
        f'<td class="wide" data-name="Scale">{cells["scale"]}</td></tr>'
    )


def _id(claim: Claim) -> str:
    return claim.id if claim.work == MAIN else f"{claim.work}-{claim.id}"


def _details(finding: Finding) -> str:
    """The details of a claim: its number, the source of its interval, and its horizon."""
    claim = finding.claim
    number = f"{claim.number}{recipe_note(finding)}"
    return f"{number}; threshold: {claim.origin}; horizon: {claim.horizon.description}"
