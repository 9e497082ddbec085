"""Writes the table of today's networks in docs/measured/tangent.md.

    python -m scripts.tools.pages.networks

Its rows are what scripts/tools/bench/nets.py measured, kept in outputs/reference/bench; what stands
around it is written by hand.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from ntkexp.report.sheets import read_timings
from ntkexp.scripts.tools.bench.nets import TABLE
from ntkexp.scripts.tools.bench.networks import NETS

ROOT = Path(__file__).parents[3]
DOCUMENT = ROOT / "docs" / "measured" / "tangent.md"
KEPT = ROOT / "outputs" / "reference" / "bench"
BEGINNING = "<!-- made by scripts/tools/pages/networks.py -->"
END = "<!-- end of what it made -->"
COLUMNS = (
    "network",
    "ours",
    "peer",
    "ratio",
    "GFLOP, ours / peer",
    "GB more, ours / peer",
    "difference in float64",
    "fallback",
)
WORDS = {
    "gpt": "GPT of two blocks, tied embedding",
    "encoder": "TransformerEncoder",
    "attention": "MultiheadAttention",
    "lstm": "LSTM",
    "gru": "GRU",
    "regression": "regression MLP",
}


def main() -> None:
    DOCUMENT.write_text(document(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")


def document(page: str) -> str:
    """The page, with the table of the rows that are kept now."""
    before, _, rest = page.partition(BEGINNING)
    _, _, after = rest.partition(END)
    return "\n".join([before + BEGINNING, "", *section(read_timings(KEPT)[TABLE]), "", END + after])


def section(table: pd.DataFrame) -> Iterator[str]:
    rows = {row["net"]: row for row in table.to_dict("records")}
    yield f"| {' | '.join(COLUMNS)} |"
    yield "|---" * len(COLUMNS) + "|"
    yield from (_row(rows[name]) for name in NETS if name in rows)
    facts = table.attrs
    yield f"\n{facts['machine']}, torch {facts['torch']}, {facts['date']}, {_commits(table)}."
    absent = [name for name in NETS if name not in rows]
    if absent:
        yield f"Not measured: {', '.join(map(_word, absent))}."


def _commits(table: pd.DataFrame) -> str:
    names = sorted(set(table["commit"]))
    return f"{'commit' if len(names) == 1 else 'commits'} {', '.join(names)}"


def _row(row: dict[str, Any]) -> str:
    def both(column: str) -> str:
        return f"{_number(row[f'ours_{column}'])} / {_number(row[f'peer_{column}'])}"

    cells = (
        _word(str(row["net"])),
        f"{_number(row['ours_seconds'])} s",
        f"{row['peer']} {_number(row['peer_seconds'])} s",
        _number(row["ratio"]),
        both("gflop"),
        both("peak_gb"),
        _difference(row["difference"]),
        "" if row["fallback"] == "-" else row["fallback"],
    )
    return f"| {' | '.join(cells)} |"


def _word(net: str) -> str:
    name, _, pixels = net.partition("@")
    return WORDS.get(name, name) + (f" at {pixels} × {pixels}" if pixels else "")


def _number(value: float) -> str:
    """Two digits, or all before the point; nothing where there is none.

    >>> [_number(value) for value in (0.0271, 1.96, 35.2, 2944.3, 0.0, float("nan"))]
    ['0.027', '2.0', '35', '2,944', '0', '']
    """
    if math.isnan(value):
        return ""
    if value <= 0.0005:
        return "0"
    digits = max(0, 1 - math.floor(math.log10(float(f"{value:.1e}"))))
    return f"{value:,.{digits}f}"


def _difference(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.1e}"


if __name__ == "__main__":
    main()
