"""docs/results.md tells every table and column as it is, in the tables' own words."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from ntkexp import components, probes, studies

TOP = Path(__file__).parents[2]
DOCUMENT = TOP / "docs" / "results.md"


def test_the_page_is_what_the_tables_say() -> None:
    script = runpy.run_path(str(TOP / "scripts" / "tools" / "pages" / "results.py"))
    before = DOCUMENT.read_text(encoding="utf-8")
    assert script["document"](before) == before


@pytest.mark.parametrize(
    ("group", "name"),
    [("probe", name) for name in probes.names()] + [("study", name) for name in studies.names()],
)
def test_every_column_says_what_it_is(group: str, name: str) -> None:
    for table in components.find(group, name).tables:
        for column, one in table.columns.items():
            assert len(one.about.split()) > 1 or one.about.isalpha(), f"{table.name}.{column}"
