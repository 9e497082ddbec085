"""Writes docs/options.md: every option, its default, its sentence and its values.

python -m scripts.tools.pages.options      what stands above its first line stays as it is
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ntkexp.components import GROUPS
from ntkexp.config import TrainConfig
from ntkexp.handbook import Row, config_groups, named, rows, summary

DOCUMENT = Path(__file__).parents[3] / "docs" / "options.md"
BEGINNING = "<!-- from here on made by scripts/tools/pages/options.py -->"


def main() -> None:
    DOCUMENT.write_text(document(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")


def document(before: str) -> str:
    """The page, with the options as they are now."""
    intro = before.partition(BEGINNING)[0]
    return intro + "\n\n".join([BEGINNING, *sections()]) + "\n"


def sections() -> Iterator[str]:
    yield "## A run"
    yield table(rows(TrainConfig, ""))
    for group in GROUPS:
        yield f"## {group}"
        for title, kind, key in named(group):
            if kind.__module__.startswith("ntkexp."):
                yield f"### {title}\n\n{summary(kind)}"
                yield from filter(None, [table(rows(kind, key))])
    for group in config_groups():
        for title, kind, key in named(group):
            yield f"## {title}\n\n{summary(kind)}"
            yield table(rows(kind, key))


def table(listed: Iterator[Row]) -> str:
    lines = [f"| `{row.key}` | {_code(row.default)} | {row.about} | {_cell(row.accepted)} |"
             for row in listed]  # fmt: skip
    head = ["| option | default | what it is | values |", "|---|---|---|---|"]
    return "\n".join([*head, *lines]) if lines else ""


def _code(default: str) -> str:
    return f"`{default}`" if default else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    main()
