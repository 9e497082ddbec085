"""The tables of a run: every table, every column, in their own words. The site gets them when it is
built; `ntkexp options probe=NAME` prints those of a probe.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from ntkexp import components
from ntkexp.results.table import STEP, Column, Table
from ntkexp.training.members.side_by_side import MEMBERS
from ntkexp.training.supervised import TABLES

LINE_WIDTH = 100


def page() -> str:
    """A section for the tables of training, and one for each probe and study, as Markdown."""
    return "\n\n".join(sections())


def sections() -> Iterator[str]:
    yield from section("Training", (*TABLES, MEMBERS), above=("step", STEP))
    for group, word in (("probe", "Probe"), ("study", "Study")):
        for name in components.names(group):
            kind = components.find(group, name)
            # Components of a project of one's own are that project's to document.
            if kind.__module__.startswith("ntkexp."):
                above = ("step", STEP) if group == "probe" else None
                yield from section(f"{word} {name}", kind.tables, above)  # type: ignore[attr-defined]
                for array in getattr(kind, "arrays", ()):
                    yield _filled(f"`{array.name}.STEP.npy`: {array.about}.")


def section(
    title: str, tables: Sequence[Table], above: tuple[str, Column] | None = None
) -> Iterator[str]:
    """A table of columns for each table, without the column that the page has above. Columns that
    all tables have stand once; the only table of a component of its name has no heading."""
    yield f"## {title}"
    columns = [list(table.columns.items()) for table in tables] if len(tables) > 1 else [[]]
    shared = [item for item in columns[0] if item != above and all(item in t for t in columns)]
    if shared:
        in_all = (f"`{name}` ({column.type}: {column.about})" for name, column in shared)
        yield _filled(f"Every table has {', '.join(in_all)}.")
    for table in tables:
        if len(tables) > 1 or not title.endswith(f" {table.name}"):
            yield f"### {table.name}"
        yield _filled(table.about[0].upper() + table.about[1:].rstrip(".") + ".")
        rows = [
            f"| {name} | {column.type} | {_cell(column.about)} |"
            for name, column in table.columns.items()
            if (name, column) != above and (name, column) not in shared
        ]
        yield "\n".join(["| column | type | what it is |", "|---|---|---|", *rows])
        if table.notes:
            yield _filled(table.notes)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _filled(text: str) -> str:
    return textwrap.fill(text, LINE_WIDTH, break_long_words=False, break_on_hyphens=False)
