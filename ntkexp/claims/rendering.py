"""The ledger, paper by paper, for a terminal, for a Markdown page, and for programs."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence

from ntkexp.claims.claim import Section
from ntkexp.claims.effort import command
from ntkexp.claims.horizon import Horizon
from ntkexp.claims.verdict import Finding, Verdict
from ntkexp.papers.registry import Paper, paper

COLUMNS = ("figure", "claim", "paper", "holds if", "measured", "verdict", "scale")
# What each column takes of the terminal's width: weights, but for the narrow ones their characters.
FIXED = {"figure": 6, "verdict": 9, "scale": 8}
SHARES = {"claim": 10, "paper": 4, "holds if": 4, "measured": 7}
# A terminal narrower than this has four columns, the claim's with paper and interval in it.
WIDE, LEAST_WIDTH = 110, 60
NARROW_COLUMNS = ("figure", "claim", "measured", "verdict")
ABOUT = {
    Section.paper: "What the text says. Only these decide whether the paper reproduces.",
    Section.notebooks: "Curves of the authors' notebooks, judged on runs of their code's recipe.",
    Section.identity: "What holds by construction or by proof; a failure would be an error here.",
    Section.ours: "What the paper does not say; nothing of it tells whether the paper reproduces.",
}


def works(findings: Iterable[Finding]) -> dict[Paper, list[Finding]]:
    """The findings of each paper that has any, in the ledger's order."""
    by_work: dict[str, list[Finding]] = {}
    for finding in findings:
        by_work.setdefault(finding.claim.work, []).append(finding)
    return {paper(name): members for name, members in by_work.items()}


def sections(findings: Iterable[Finding]) -> dict[Section, list[Finding]]:
    """The findings of each section that has any, in the ledger's order."""
    by_section: dict[Section, list[Finding]] = {section: [] for section in Section}
    for finding in findings:
        by_section[finding.claim.section].append(finding)
    return {section: members for section, members in by_section.items() if members}


def row(finding: Finding) -> dict[str, str]:
    claim = finding.claim
    return {
        "figure": str(claim.figure or "–"),
        "claim": f"{claim.says}: {claim.number}{recipe_note(finding)}",
        "paper": claim.paper,
        "holds if": claim.holds.formatted(claim.unit),
        "measured": finding.measured,
        "verdict": str(finding.verdict),
        "scale": finding.scale,
    }


def recipe_note(finding: Finding) -> str:
    """The recipe, named where a claim is judged under several."""
    return f" (recipe={finding.recipe})" if len(finding.claim.recipes) > 1 else ""


def as_text(findings: Sequence[Finding], width: int) -> str:
    """For each section a table with wrapped cells and the counts; then what is missing."""
    columns = COLUMNS if width >= WIDE else NARROW_COLUMNS
    fixed = {name: FIXED[name] for name in columns if name in FIXED}
    shares = {name: SHARES[name] for name in columns if name in SHARES}
    free = max(width, LEAST_WIDTH) - sum(fixed.values()) - 2 * (len(columns) - 1)
    widths = {name: fixed.get(name) or free * shares[name] // sum(shares.values())
              for name in columns}  # fmt: skip
    lines: list[str] = []
    for work, of_work in works(findings).items():
        lines += [work.title, ""]
        for section, members in sections(of_work).items():
            lines += [section.value.upper(), *textwrap.wrap(ABOUT[section], width), ""]
            lines += [_line({name: name for name in columns}, widths)]
            lines += [_line(_fitted(row(finding), columns), widths) for finding in members]
            lines += ["", *textwrap.wrap(summary(members), width), ""]
    for word in notes(findings):
        lines += textwrap.wrap(f"note: {word}", width, subsequent_indent="  ")
    for word in commands(findings):
        line = f"to make: {word}"
        # A command stays on one line: it is there to be copied.
        lines += [line] if _is_command(word) else textwrap.wrap(line, width, subsequent_indent="  ")
    return "\n".join(lines)


def _fitted(cells: dict[str, str], columns: Sequence[str]) -> dict[str, str]:
    if "paper" in columns:
        return cells
    beside = f"paper: {cells['paper']}; holds if {cells['holds if']}"
    scale = f"; {cells['scale']}" if cells["scale"] else ""
    return cells | {"claim": f"{cells['claim']} ({beside}{scale})"}


def _line(cells: dict[str, str], widths: dict[str, int]) -> str:
    wrapped = [textwrap.wrap(cells[name], widths[name]) or [""] for name in widths]
    height = max(map(len, wrapped))
    return "\n".join(
        "  ".join(
            (cell[number] if number < len(cell) else "").ljust(widths[name])
            for name, cell in zip(widths, wrapped, strict=True)
        ).rstrip()
        for number in range(height)
    )


def summary(findings: Sequence[Finding]) -> str:
    """A table that counts verdicts: each claim under its first recipe, then under the others."""
    counted = []
    for recipe, members in _by_recipe(findings).items():
        verdicts = [finding.verdict for finding in members]
        words = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in Verdict)
        partial = sum(bool(finding.covered) for finding in members)
        part = f" ({partial} of them without runs of some experiments)" if partial else ""
        counted.append(f"{len(members)} claims{recipe}: {words}{part}")
    return "; ".join(counted)


def _by_recipe(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """The findings under each claim's first recipe, and those under another recipe."""
    by_recipe: dict[str, list[Finding]] = {}
    for finding in findings:
        first = finding.recipe == finding.claim.recipes[0]
        by_recipe.setdefault("" if first else f" with recipe={finding.recipe}", []).append(finding)
    return dict(sorted(by_recipe.items()))


SOME = (
    "a claim is judged on those of its experiments that have runs; where some have none, what was "
    "measured ends with their names"
)


def notes(findings: Sequence[Finding]) -> list[str]:
    explained = [SOME] if any(finding.covered for finding in findings) else []
    return [*explained, *sorted({note for finding in findings for note in finding.notes})]


def commands(findings: Iterable[Finding]) -> list[str]:
    """The commands that make the missing runs, with what they cost, each once and as far as the
    longest horizon asks."""
    longest: dict[tuple[str, str, str], Horizon] = {}
    for finding in findings:
        horizon = finding.claim.horizon
        description = "" if horizon.iterations is not None else horizon.description
        for name in finding.missing:
            earlier = longest.setdefault((name, finding.recipe, description), horizon)
            if (horizon.iterations or 0) > (earlier.iterations or 0):
                longest[name, finding.recipe, description] = horizon
    lines = (command(name, recipe, horizon) for (name, recipe, _), horizon in longest.items())
    return list(dict.fromkeys(lines))


def _is_command(word: str) -> bool:
    """False where `effort` says that no command is known."""
    return word.startswith("ntkexp ")


def as_markdown(findings: Sequence[Finding]) -> str:
    """The whole ledger: with horizons, and where every threshold comes from."""
    names = (*COLUMNS, "horizon", "threshold")
    lines: list[str] = []
    for work, of_work in works(findings).items():
        lines += [f"# {work.title}", ""]
        for section, members in sections(of_work).items():
            lines += [f"## {section.value}", "", f"{ABOUT[section]} {summary(members)}.", ""]
            lines += [f"| {' | '.join(names)} |", f"|{' --- |' * len(names)}"]
            for finding in members:
                cells = row(finding) | {
                    "verdict": f"**{finding.verdict}**",
                    "horizon": finding.claim.horizon.description,
                    "threshold": finding.claim.origin,
                }
                lines.append(f"| {' | '.join(_escaped(cells[name]) for name in names)} |")
            lines.append("")
    lines += [f"- {note}" for note in notes(findings)]
    lines += [
        f"- to make: `{word}`" if _is_command(word) else f"- {word}" for word in commands(findings)
    ]
    return "\n".join(lines)


def as_summary(findings: Sequence[Finding]) -> str:
    """For each paper and section a row a figure: how many claims have which verdict, and at which
    scale."""
    lines: list[str] = []
    for work, of_work in works(findings).items():
        lines += [f"### {work.title}", ""]
        for section, members in sections(of_work).items():
            lines += [f"**{section.value}.** {summary(members)}.", ""]
            lines += [
                f"| figure | {' | '.join(Verdict)} | scale |",
                f"|{' --- |' * (len(Verdict) + 2)}",
            ]
            lines += [*_by_figure(members), ""]
    return "\n".join(lines).rstrip()


def _by_figure(findings: Sequence[Finding]) -> Iterator[str]:
    rows: dict[str, list[Finding]] = {}
    for finding in findings:
        name = f"{finding.claim.figure or 'text'}{recipe_note(finding)}"
        rows.setdefault(name, []).append(finding)
    for name, members in rows.items():
        verdicts = [finding.verdict for finding in members]
        counts = " | ".join(str(verdicts.count(verdict) or "") for verdict in Verdict)
        scales = dict.fromkeys(s for finding in members for s in finding.scale.split(", ") if s)
        yield f"| {name} | {counts} | {', '.join(scales)} |"


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|")


def as_json(findings: Sequence[Finding]) -> str:
    return json.dumps([entry(finding) for finding in findings], indent=1, ensure_ascii=False)


def entry(finding: Finding) -> dict[str, object]:
    """One claim as plain data; a value that is no finite number is null."""
    claim = finding.claim
    return {
        "id": claim.id,
        "work": claim.work,
        "section": claim.section.name,
        "figure": claim.figure,
        "recipe": finding.recipe,
        "claim": claim.says,
        "paper": claim.paper,
        "number": claim.number,
        "holds_if": claim.holds.formatted(claim.unit),
        "threshold": claim.origin,
        "horizon": claim.horizon.description,
        "measured": finding.measured,
        "cases": [
            {"panel": case.panel, "seed": case.seed, "value": _finite(case.value)}
            for case in finding.cases
        ],
        "seeds": finding.seeds,
        "verdict": str(finding.verdict),
        "undecided": finding.undecided,
        "chosen": claim.chosen,
        "scale": finding.scale,
        "notes": list(finding.notes),
        "runs": [f"{record.experiment}/{record.run}" for record in finding.records],
        "missing": list(finding.missing),
        "commands": commands([finding]),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


FORMS: dict[str, Callable[[Sequence[Finding]], str]] = {
    "json": as_json,
    "markdown": as_markdown,
    "summary": as_summary,
}
