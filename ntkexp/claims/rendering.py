"""The ledger for a terminal, for a Markdown page, and for programs."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Callable, Iterable, Sequence

from ntkexp.catalogue import experiments
from ntkexp.claims.verdict import Finding, Verdict

COLUMNS = ("figure", "claim", "paper", "holds if", "measured", "verdict", "scale")
# What each column takes of the terminal's width: weights, but for the narrow ones their characters.
FIXED = {"figure": 6, "verdict": 7, "scale": 7}
SHARES = {"claim": 10, "paper": 4, "holds if": 4, "measured": 7}
LEAST_WIDTH = 110


def row(finding: Finding) -> dict[str, str]:
    claim = finding.claim
    source = " (notebooks)" if claim.source == "notebooks" else ""
    return {
        "figure": str(claim.figure or "–"),
        "claim": f"{claim.says}: {claim.number}",
        "paper": f"{claim.paper}{source}",
        "holds if": claim.holds.told(claim.unit),
        "measured": finding.measured,
        "verdict": str(finding.verdict),
        "scale": finding.scale,
    }


def as_text(findings: Sequence[Finding], width: int) -> str:
    """A table with wrapped cells, then the counts and what is missing."""
    free = max(width, LEAST_WIDTH) - sum(FIXED.values()) - 2 * (len(COLUMNS) - 1)
    widths = FIXED | {name: free * part // sum(SHARES.values()) for name, part in SHARES.items()}
    lines = [_line({name: name for name in COLUMNS}, widths)]
    for finding in findings:
        lines += [_line(row(finding), widths)]
    return "\n".join([*lines, "", summary(findings), *_indented("note", notes(findings)),
                      *_indented("to make", commands(findings))])  # fmt: skip


def _line(cells: dict[str, str], widths: dict[str, int]) -> str:
    wrapped = [textwrap.wrap(cells[name], widths[name]) or [""] for name in COLUMNS]
    height = max(map(len, wrapped))
    return "\n".join(
        "  ".join(
            (cell[number] if number < len(cell) else "").ljust(widths[name])
            for name, cell in zip(COLUMNS, wrapped, strict=True)
        ).rstrip()
        for number in range(height)
    )


def _indented(title: str, words: Sequence[str]) -> list[str]:
    return [f"{title}: {word}" for word in words]


def summary(findings: Iterable[Finding]) -> str:
    verdicts = [finding.verdict for finding in findings]
    told = [f"{verdicts.count(verdict)} {verdict}" for verdict in Verdict]
    return f"{len(verdicts)} claims: {', '.join(told)}"


def notes(findings: Iterable[Finding]) -> list[str]:
    return sorted({note for finding in findings for note in finding.notes})


def commands(findings: Iterable[Finding]) -> list[str]:
    """The commands that make the missing runs, each once."""
    absent = dict.fromkeys(name for finding in findings for name in finding.missing)
    return [command(name) for name in absent]


def command(experiment: str) -> str:
    """What makes the runs of an experiment; `-m` where they are a sweep."""
    lines = {known.name: known.line for known in experiments()}
    return lines.get(experiment, f"ntkexp train +exp={experiment}")


def as_markdown(findings: Sequence[Finding]) -> str:
    lines = [
        f"{summary(findings)}.",
        "",
        f"| {' | '.join(COLUMNS)} |",
        f"|{' --- |' * len(COLUMNS)}",
    ]
    for finding in findings:
        cells = row(finding) | {"verdict": f"**{finding.verdict}**"}
        lines.append(f"| {' | '.join(_escaped(cells[name]) for name in COLUMNS)} |")
    lines += ["", *(f"- {note}" for note in notes(findings))]
    return "\n".join([*lines, *(f"- to make: `{command}`" for command in commands(findings))])


def as_summary(findings: Sequence[Finding]) -> str:
    """A row a figure: how many claims have which verdict, and at which scale they were judged."""
    figures: dict[int | None, list[Finding]] = {}
    for finding in findings:
        figures.setdefault(finding.claim.figure, []).append(finding)
    lines = [f"| figure | {' | '.join(Verdict)} | scale |", f"|{' --- |' * (len(Verdict) + 2)}"]
    for figure, members in figures.items():
        verdicts = [member.verdict for member in members]
        counts = " | ".join(str(verdicts.count(verdict) or "") for verdict in Verdict)
        scales = dict.fromkeys(scale for one in members for scale in one.scale.split(", ") if scale)
        lines.append(f"| {figure or 'theorems'} | {counts} | {', '.join(scales)} |")
    return "\n".join([f"{summary(findings)}.", "", *lines])


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|")


def as_json(findings: Sequence[Finding]) -> str:
    return json.dumps([entry(finding) for finding in findings], indent=1, ensure_ascii=False)


def entry(finding: Finding) -> dict[str, object]:
    """One claim as plain data; a value that is no finite number is null."""
    claim = finding.claim
    return {
        "id": claim.id,
        "figure": claim.figure,
        "claim": claim.says,
        "paper": claim.paper,
        "source": claim.source,
        "number": claim.number,
        "holds_if": claim.holds.told(claim.unit),
        "measured": finding.measured,
        "cases": [
            {"panel": case.panel, "seed": case.seed, "value": _finite(case.value)}
            for case in finding.cases
        ],
        "seeds": finding.seeds,
        "verdict": str(finding.verdict),
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
