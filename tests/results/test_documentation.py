"""docs/results.md tells every table and column as it is, in the tables' own words."""

from __future__ import annotations

import runpy
from pathlib import Path

TOP = Path(__file__).parents[2]
DOCUMENT = TOP / "docs" / "results.md"


def test_the_page_is_what_the_tables_say() -> None:
    script = runpy.run_path(str(TOP / "scripts" / "tools" / "pages" / "results.py"))
    before = DOCUMENT.read_text(encoding="utf-8")
    assert script["document"](before) == before
