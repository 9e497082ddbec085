"""docs/layout.md names the folders that there are."""

from __future__ import annotations

import re

from tests.docs.pages import TOP, blocks

NAME = re.compile(r"[\w/]+(?:\.py|/)")


def test_every_room_is_named_and_every_name_is_there() -> None:
    tree, *_ = blocks(TOP / "docs" / "layout.md")
    names = {name.rstrip("/") for name in NAME.findall(tree.text)}
    packages = {path.parent for path in (TOP / "ntkexp").rglob("__init__.py")}
    rooms = {path.name for path in packages if path.parent == TOP / "ntkexp"}
    assert rooms <= names, "not in docs/layout.md"
    there = {path.name for home in ("ntkexp", "scripts") for path in (TOP / home).rglob("*")}
    assert names <= there | {path.name for path in TOP.iterdir()}
