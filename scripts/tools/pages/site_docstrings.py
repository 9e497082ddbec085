"""Docstrings as the reference of the site shows them (mkdocs.yml names this file).

They are plain text: examples become code, aligned names and their meaning a list, and signs that
Markdown would take for its own are said to be none.
"""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension

SECTIONS = re.compile(r"^(Args|Returns|Raises|Yields):$", re.MULTILINE)
ENTRY = re.compile(r"(?P<name>[\w., ]*\w) {2,}(?P<about>\S.*)")
CODE = re.compile(r"(`[^`]*`)")


class Readable(Extension):
    """Rewrites every docstring before it is parsed."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = readable(obj.docstring.value)


def readable(text: str) -> str:
    """A docstring as Markdown.

    >>> readable("Of a_b.")
    'Of a\\\\_b.'
    """
    # What has sections is parsed by them: there only examples are touched.
    has_sections = SECTIONS.search(text) is not None
    return "\n\n".join(_paragraph(part, has_sections) for part in text.strip("\n").split("\n\n"))


def _paragraph(text: str, has_sections: bool) -> str:
    lines = text.split("\n")
    if lines[0].lstrip().startswith(">>> "):
        indent = " " * (len(lines[0]) - len(lines[0].lstrip()))
        return "\n".join([f"{indent}```pycon", *lines, f"{indent}```"])
    if has_sections or lines[0].startswith("    "):
        return text
    if ENTRY.match(lines[0]):
        return "\n".join(_entry(line) for line in lines)
    return _escaped(text)


def _entry(line: str) -> str:
    match = ENTRY.match(line)
    return f"- `{match['name']}`: {_escaped(match['about'])}" if match else _escaped(line.strip())


def _escaped(text: str) -> str:
    parts = CODE.split(text)
    return "".join(
        part if part.startswith("`") else re.sub(r"([*_])", r"\\\1", part).replace("<", "&lt;")
        for part in parts
    )
