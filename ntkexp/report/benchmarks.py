"""Tables of benchmarks, as `make bench` and its like leave them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from ntkexp.errors import UserError
from ntkexp.report.markup import soft, text
from ntkexp.results.table import frame_of


def read_timings(*folders: Path) -> dict[str, pd.DataFrame]:
    """Tables by name; where two folders have one of the same name, the first one's."""
    files = {file.stem: file for folder in reversed(folders) for file in folder.glob("*.parquet")}
    return {name: read_table(files[name]) for name in sorted(files)}


def origin(timings: pd.DataFrame) -> str:
    """How a table came about, in a line; nothing for a table that does not say."""
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
    return "".join(
        f'<article class="sheet"><h3>{text(title(frame, name))}</h3>{_origin(frame)}'
        f'<div class="scroll">{table(frame)}</div></article>'
        for name, frame in tables.items()
    )


def table(frame: pd.DataFrame) -> str:
    """A data frame as an HTML table, its numbers to the right."""
    kinds = [
        ' class="number"' if pd.api.types.is_numeric_dtype(frame[name]) else "" for name in frame
    ]
    names = [text(str(name).replace("_", " ")) for name in frame]
    rows = [[_cell(value) for value in values] for values in frame.itertuples(index=False)]
    body = "".join(f"<tr>{_row('td', cells, kinds)}</tr>" for cells in rows)
    return f"<table><thead><tr>{_row('th', names, kinds)}</tr></thead><tbody>{body}</tbody></table>"


def _origin(frame: pd.DataFrame) -> str:
    line = origin(frame)
    return soft(line) if line else ""


def _row(tag: str, cells: list[str], kinds: list[str]) -> str:
    return "".join(f"<{tag}{kind}>{cell}</{tag}>" for cell, kind in zip(cells, kinds, strict=True))


def _cell(value: object) -> str:
    if isinstance(value, float):
        if value != value:
            return "–"
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return text(str(value))
