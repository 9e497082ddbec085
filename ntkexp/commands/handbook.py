"""Every option of every component in one sentence, and the tables of probes and studies.

The sentences stand where the options and the tables are declared (ntkexp/options.py,
ntkexp/results/table.py).
"""

from __future__ import annotations

import inspect
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from shutil import get_terminal_size
from types import UnionType
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

from ntkexp import components
from ntkexp.components import GROUPS, Component
from ntkexp.config import TrainConfig
from ntkexp.errors import UserError, meant


class Row(NamedTuple):
    """An option: its key in a config, its default, its sentence, and the values that it takes."""

    key: str
    default: str
    about: str
    accepted: str


def options(names: Sequence[str] = ()) -> str:
    """The groups, or the options of the groups and components that are named."""
    if names:
        chapters = (_chapter(*one, tables="=" in name) for name in names for one in named(name))
        return "\n\n".join(map("\n".join, chapters))
    return "\n".join([*groups(), "", "and a run itself", *_table(rows(TrainConfig, ""))])


def groups() -> Iterator[str]:
    """A line a group: the components to choose from, or the subject of its options."""
    for group in GROUPS:
        yield from _entry(f"  {group}=", ", ".join(components.names(group)), 18)
    for group, kind in config_groups().items():
        yield from _entry(f"  {group}", summary(kind), 18)


def config_groups() -> Mapping[str, type]:
    """The groups of a config that take no components, each a dataclass."""
    nested = {option.name: _default(option) for option in fields(TrainConfig)}
    return {name: type(value) for name, value in nested.items() if is_dataclass(value)}


def named(name: str) -> Iterator[tuple[str, type, str]]:
    """Title, class and key of what `GROUP` or `GROUP=NAME` means."""
    group, _, chosen = name.partition("=")
    if group in GROUPS:
        for component in [chosen] if chosen else components.names(group):
            key = f"{group}.{components.key_of(component)}" if GROUPS[group].many else group
            yield f"{group}={component}", components.find(group, component), key
        return
    if name not in (nested := config_groups()):
        accepted = [*GROUPS, *nested]
        of = [f"; did you mean {one}={name}?" for one in GROUPS if name in components.names(one)]
        guess = [*of, meant(name, accepted)][0]
        raise UserError(f"options {name}: no such group{guess}; expected {', '.join(accepted)}")
    yield name, nested[name], group


def summary(kind: type) -> str:
    """The first paragraph of a component's file, or of a group's class."""
    component = issubclass(kind, Component)
    text = sys.modules[kind.__module__].__doc__ if component else inspect.getdoc(kind)
    return " ".join((text or "").partition("\n\n")[0].split())


def rows(kind: type, key: str) -> Iterator[Row]:
    """The options of a dataclass below `key`; if `key` is not empty, of nested dataclasses too."""
    hints = get_type_hints(kind)
    for option in fields(kind):
        if issubclass(kind, Component) and option.name == "name":
            continue
        name = f"{key}.{option.name}".lstrip(".")
        about, rule = option.metadata.get("about", ""), option.metadata.get("rule")
        default = _default(option)
        if isinstance(default, Component):
            yield Row(name, default.name, about, f"a {default.kind}, as {default.kind}=NAME")
        elif is_dataclass(default) and about:
            yield Row(name, "", about, "a file of another run: .run, .set, .file")
        elif is_dataclass(default):
            yield from rows(type(default), name) if key else ()
        elif about or key:
            accepted = rule.accepted if rule else _values(hints[option.name])
            yield Row(name, _word(default), about, accepted)


def _default(option: Field[Any]) -> Any:
    make = option.default_factory
    return option.default if make is MISSING else make()


def _word(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_word, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return "null" if value is None else str(value)


def _values(hint: Any) -> str:
    """The values of a type, in words."""
    if get_origin(hint) is UnionType:
        return " or ".join(map(_values, get_args(hint)))
    if isinstance(hint, type) and issubclass(hint, Enum):
        return " | ".join(member.name for member in hint)
    if get_origin(hint) is list:
        return f"a list of {_values(get_args(hint)[0])}"
    words = {bool: "true | false", str: "text", int: "a whole number", type(None): "null"}
    return words.get(hint, "a mapping")


def _chapter(title: str, kind: type, key: str, tables: bool) -> Iterator[str]:
    yield from _entry(title, summary(kind), len(title) + 2)
    yield from _table(rows(kind, key))
    if tables:
        yield from _written(kind)


def _written(kind: type) -> Iterator[str]:
    """The tables and arrays that a probe or a study writes, each column in words."""
    for table in getattr(kind, "tables", ()):
        yield from ["", *_entry(f"table {table.name}", table.about, len(table.name) + 8)]
        width = max(map(len, table.columns))
        for name, column in table.columns.items():
            yield from _entry(f"  {name:<{width}}  {column.type}", column.about, width + 13)
        yield from _entry(" ", table.notes, 2) if table.notes else ()
    for array in getattr(kind, "arrays", ()):
        file = f"{array.name}.STEP.npy"
        yield from ["", *_entry(file, array.about, len(file) + 2)]


def _table(listed: Iterable[Row]) -> Iterator[str]:
    listed = list(listed)
    keys = max((len(row.key) for row in listed), default=0)
    defaults = max((len(row.default) for row in listed if len(row.default) < 20), default=0)
    for row in listed:
        sentence = f"{row.about} ({row.accepted})" if row.accepted else row.about
        yield from _entry(f"  {row.key:<{keys}}  {row.default}", sentence, keys + defaults + 6)


def _entry(call: str, about: str, column: int) -> Iterator[str]:
    first, *more = textwrap.wrap(about, max(get_terminal_size().columns - column, 30)) or [""]
    yield f"{call:<{column - 1}} {first}".rstrip()
    yield from (" " * column + line for line in more)
