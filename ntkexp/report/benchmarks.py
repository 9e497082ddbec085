"""Tables of benchmarks, as `make bench` and its like leave them."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from ntkexp.report.markup import soft, text
from ntkexp.results.benchmarks import origin, title


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
