"""The page for those who come from another library: its lines, where that library installs."""

from __future__ import annotations

import pytest

from tests.docs.pages import TOP, blocks


@pytest.mark.parametrize("library", ["neural_tangents", "nngeometry"])
def test_the_lines_of_another_library_give_the_same(library: str) -> None:
    pytest.importorskip(library, exc_type=ImportError)
    python = [block.text for block in blocks(TOP / "docs" / "other_libraries.md")
              if block.kind == "python"]  # fmt: skip
    (theirs,) = [text for text in python if library in text]
    names: dict[str, object] = {}
    exec(python[0], names)
    exec(theirs, names)
