"""The parts of the page: figures with what they come from, tables of benchmarks; text as HTML."""

from __future__ import annotations

import base64
import gzip
import html
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from ntkexp.errors import UserError
from ntkexp.papers.registry import paper
from ntkexp.report.facts import Drawing, ShownRuns
from ntkexp.results.table import frame_of


def text(words: str) -> str:
    """Escaped; a number and its unit stay on one line."""
    return re.sub(r"(?<=\d) (?=[%×±])|(?<=±) (?=\d)", "\u00a0", html.escape(words))


def soft(words: str) -> str:
    return f'<p class="soft small">{text(words)}</p>'


def folded(title: str, entries: Iterable[str]) -> str:
    """A list of HTML entries that can be folded away; nothing without entries."""
    items = "".join(f"<li>{entry}</li>" for entry in entries)
    if not items:
        return ""
    return f'<details open><summary>{text(title)}</summary><ul class="small">{items}</ul></details>'


def code(words: str) -> str:
    return f"<code>{html.escape(words)}</code>"


def pre(words: str) -> str:
    return f"<pre>{html.escape(words)}</pre>"


def packed(words: str) -> str:
    """Gzipped, as text: a third of the size, the same bytes every time."""
    return base64.b64encode(gzip.compress(words.encode("utf-8"), mtime=0)).decode("ascii")


def figures(drawings: Sequence[Drawing]) -> str:
    """The HTML of all figures that are drawn, under the titles of their papers."""
    articles = []
    for place, drawing in enumerate(drawings):
        if place == 0 or drawings[place - 1].paper != drawing.paper:
            articles.append(f"<h3>{text(paper(drawing.paper).title)}</h3>")
        articles.append(figure(drawing))
    return "\n".join(articles)


def figure(drawing: Drawing) -> str:
    return (
        f'<article class="sheet" id="{drawing.id}"><h4>{text(drawing.heading)}</h4>'
        f"{soft(drawing.details)}{soft(f'Drawn {drawing.source}.') if drawing.source else ''}"
        # The page's script unpacks it into the image: all figures are 15 MB as they are, 6 MB so.
        f'<div class="drawing"><img alt="{text(drawing.heading)}">'
        f'<script type="application/gzip">{packed(drawing.svg)}</script></div>'
        f"{''.join(map(_facts, drawing.groups))}</article>"
    )


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


def read_timings(*folders: Path) -> dict[str, pd.DataFrame]:
    """Tables by name; where two folders have one of the same name, the first one's."""
    files = {file.stem: file for folder in reversed(folders) for file in folder.glob("*.parquet")}
    return {name: read_table(files[name]) for name in sorted(files)}


def origin(timings: pd.DataFrame) -> str:
    """The command, machine and date of a table, in a line; empty for a table that has none."""
    facts = timings.attrs
    if not {"command", "machine", "torch", "commit", "date"} <= facts.keys():
        return ""
    code = f", commit {facts['commit']}" if facts["commit"] else ""
    return f"{facts['command']}: {facts['machine']}, torch {facts['torch']}, {facts['date']}{code}"


def title(timings: pd.DataFrame, name: str) -> str:
    return str(timings.attrs.get("about", name.replace("_", " ")))


def read_table(file: Path) -> pd.DataFrame:
    try:
        return frame_of(file.read_bytes())
    except (OSError, ValueError) as error:
        raise UserError(f"{file}: no table that can be read ({error})") from error


def benchmarks(tables: Mapping[str, pd.DataFrame]) -> str:
    if not tables:
        return soft("No benchmark tables yet: make bench")
    return "".join(_benchmark(name, frame) for name, frame in tables.items())


def _benchmark(name: str, frame: pd.DataFrame) -> str:
    heading = f"<h3>{text(title(frame, name))}</h3>{soft(line) if (line := origin(frame)) else ''}"
    return f'<article class="sheet">{heading}<div class="scroll">{table(frame)}</div></article>'


def table(frame: pd.DataFrame) -> str:
    """A data frame as an HTML table, its numbers to the right."""
    kinds = [
        ' class="number"' if pd.api.types.is_numeric_dtype(frame[name]) else "" for name in frame
    ]
    names = [text(str(name).replace("_", " ")) for name in frame]
    rows = [[_cell(value) for value in values] for values in frame.itertuples(index=False)]
    body = "".join(f"<tr>{_row('td', cells, kinds)}</tr>" for cells in rows)
    return f"<table><thead><tr>{_row('th', names, kinds)}</tr></thead><tbody>{body}</tbody></table>"


def _row(tag: str, cells: list[str], kinds: list[str]) -> str:
    return "".join(f"<{tag}{kind}>{cell}</{tag}>" for cell, kind in zip(cells, kinds, strict=True))


def _cell(value: object) -> str:
    if isinstance(value, float):
        if value != value:
            return "–"
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return text(str(value))
