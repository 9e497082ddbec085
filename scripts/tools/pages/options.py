"""The page of options: every option, its default, its sentence and its values. The site gets them
when it is built; `ntkexp options` prints the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from ntkexp.commands.handbook import Row, config_groups, named, rows, summary
from ntkexp.components import GROUPS
from ntkexp.config import TrainConfig


def page() -> str:
    """A section for each component, as Markdown."""
    return "\n\n".join(sections())


def sections() -> Iterator[str]:
    yield "## A run"
    yield table(rows(TrainConfig, ""))
    for group in GROUPS:
        yield f"## {group}"
        yield from chapters("###", named(group))
    yield from chapters("##", chain.from_iterable(map(named, config_groups())))


def chapters(level: str, kinds: Iterable[tuple[str, type, str]]) -> Iterator[str]:
    """A table for each; options that an earlier one has in the same words are named alone."""
    titles: dict[Row, str] = {}
    for title, kind, key in kinds:
        if not kind.__module__.startswith("ntkexp."):
            continue
        yield f"{level} {title}\n\n{summary(kind)}"
        listed = list(rows(kind, key))
        again = shared(listed, titles)
        yield from filter(None, [table(row for row in listed if titles.get(row) not in again)])
        for before, keys in again.items():
            yield f"As for `{before}`: {', '.join(f'`{key}`' for key in keys)}."
        titles = dict.fromkeys(listed, title) | titles


def shared(listed: Iterable[Row], titles: Mapping[Row, str]) -> dict[str, list[str]]:
    """Earlier component -> the keys of options that are the same there in every word; a few are
    rather said again."""
    again: dict[str, list[str]] = {}
    for row in listed:
        if row in titles:
            again.setdefault(titles[row], []).append(row.key.rpartition(".")[2])
    return {title: keys for title, keys in again.items() if len(keys) > 2}


def table(listed: Iterable[Row]) -> str:
    lines = [f"| `{row.key}` | {_code(row.default)} | {row.about} | {_values(row)} |"
             for row in listed]  # fmt: skip
    head = ["| option | default | what it is | values |", "|---|---|---|---|"]
    return "\n".join([*head, *lines]) if lines else ""


def _code(default: str) -> str:
    return f"`{default}`" if default else ""


def _values(row: Row) -> str:
    """The values that it takes; of a switch its default says them."""
    return "" if row.default in ("true", "false") else row.accepted.replace("|", "\\|")
