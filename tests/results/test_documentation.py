"""The page of tables has every table and column, and so has `ntkexp options`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ntkexp import components
from ntkexp.commands.handbook import options
from ntkexp.results.table import STEP, Table
from ntkexp.scripts.tools.pages import tables
from ntkexp.training.supervised import TABLES


def written(group: str) -> Iterator[tuple[str, tuple[Table, ...]]]:
    """The components of a group with the tables that they write, but for those of the tests."""
    for name in components.names(group):
        kind = components.find(group, name)
        if kind.__module__.startswith("ntkexp."):
            yield name, kind.tables  # type: ignore[attr-defined]


def test_the_page_has_every_column_of_every_table() -> None:
    page = tables.page()
    sections: list[tuple[str, tuple[Table, ...]]] = [("\n## Training\n", TABLES)]
    for group, word in (("probe", "Probe"), ("study", "Study")):
        sections += [(f"\n## {word} {name}\n", of_it) for name, of_it in written(group)]
    for title, of_it in sections:
        section = f"\n{page}".partition(title)[2].partition("\n## ")[0]
        for table in of_it:
            for name, column in table.columns.items():
                shared = f"`{name}` ({column.type}: " in section.replace("\n", " ")
                assert shared or (name, column) == ("step", STEP) or f"| {name} | " in section, name


@pytest.mark.parametrize("group", ["probe", "study"])
def test_the_command_has_every_column_of_what_a_component_writes(group: str) -> None:
    for name, of_it in written(group):
        told = options([f"{group}={name}"]).splitlines()
        for table in of_it:
            assert any(line.startswith(f"table {table.name} ") for line in told)
            for column, kind in table.columns.items():
                assert any(line.split()[:2] == [column, kind.type] for line in told), column


def test_a_whole_group_is_told_without_its_tables() -> None:
    assert "\ntable " not in options(["probe"])
