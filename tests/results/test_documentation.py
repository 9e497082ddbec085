"""docs/results.md tells every table, every column and its type, and nothing that is not there."""

from __future__ import annotations

import re
from pathlib import Path

from ntkexp import components, probes, studies
from ntkexp.results import Table
from ntkexp.training.members import MEMBERS
from ntkexp.training.supervised import TABLES

DOCUMENT = Path(__file__).parents[2] / "docs" / "results.md"


def declared() -> dict[str, tuple[Table, ...]]:
    """Tables by the heading they stand under."""
    found = {"Training": (*TABLES, MEMBERS)}
    for name in probes.names():
        found[f"Probe {name}"] = components.find("probe", name).tables
    for name in studies.names():
        found[f"Study {name}"] = components.find("study", name).tables
    return found


def documented() -> dict[str, dict[str, dict[str, str]]]:
    """heading -> table -> column -> type."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    group = table = ""
    for line in DOCUMENT.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            group, table = line[3:], ""
            found[group] = {}
        elif line.startswith("### "):
            table = line[4:]
            found[group][table] = {}
        elif (
            table
            and (row := re.match(r"\| (\w+) \| (\w+) \| (.+) \|$", line))
            and row[1] != "column"
        ):
            found[group][table][row[1]] = row[2]
    return found


def test_every_table_and_column_is_told_and_no_other() -> None:
    expected = {
        heading: {table.name: dict(table.columns) for table in tables}
        for heading, tables in declared().items()
    }
    assert documented() == expected
