"""A figure on the page: drawing, caption, and where its numbers come from."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from ntkexp.papers.found import paper
from ntkexp.report.facts import Drawing, ShownRuns
from ntkexp.report.markup import packed, pre, soft, text


def figures(drawings: Sequence[Drawing]) -> str:
    """All that are drawn, under the titles of their papers."""
    parts = []
    for place, drawing in enumerate(drawings):
        if place == 0 or drawings[place - 1].paper != drawing.paper:
            parts.append(f"<h3>{text(paper(drawing.paper).title)}</h3>")
        parts.append(figure(drawing))
    return "\n".join(parts)


def figure(drawing: Drawing) -> str:
    return (
        f'<article class="sheet" id="{drawing.id}"><h4>{text(drawing.heading)}</h4>'
        f"{soft(drawing.details)}"
        # The page's script unpacks it: all figures are 6 MB as they are, 2 MB so.
        f'<div class="drawing"><script type="application/gzip">'
        f"{packed(inlined(drawing.svg, drawing.id, drawing.heading))}</script></div>"
        f"{''.join(map(_facts, drawing.groups))}</article>"
    )


def inlined(svg: str, prefix: str, label: str) -> str:
    """An SVG as a part of a page: without its prologue, and with ids that no other figure has."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', body)
    body = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", body)
    body = re.sub(r'((?:xlink:)?href)="#([^"]+)"', rf'\1="#{prefix}-\2"', body)
    return body.replace("<svg", f'<svg role="img" aria-label="{html.escape(label)}"', 1).strip()


def _facts(group: ShownRuns) -> str:
    if not group.records:
        return pre(group.command) + soft("no runs")
    facts = {
        "runs": f"{len(group.records)}, {_seeds(group.seeds)}",
        "swept": group.swept,
        "scale": group.scale,
        "hardware": group.hardware,
        "time": f"{duration(group.seconds)} in all",
        "remarks": "; ".join(group.notes),
    }
    entries = "".join(
        f"<dt>{name}</dt><dd>{text(facts[name])}</dd>" for name in facts if facts[name]
    )
    config = "\n".join(f"{key}: {value}" for key, value in group.config.items())
    return (
        f'{pre(group.command)}<dl class="facts">{entries}</dl>'
        f"<details><summary>Config of {text(group.experiment)}</summary>{pre(config)}</details>"
    )


def _seeds(seeds: Sequence[int]) -> str:
    return f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"


def duration(seconds: float) -> str:
    """A time in the largest unit that leaves more than one and a half of it.

    >>> duration(4000), duration(6000)
    ('67 minutes', '1.7 hours')
    """
    for size, name in ((3600.0, "hours"), (60.0, "minutes")):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.2g} {name}"
    return f"{seconds:.0f} seconds"
