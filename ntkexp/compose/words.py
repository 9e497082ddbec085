"""From values to the words that Hydra reads on a command line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ntkexp.components import GROUPS, GROUPS_OF_MANY
from ntkexp.errors import UserError

PLAIN_WORD = re.compile(r"[A-Za-z_][\w./@-]*")
NO_STRINGS = ("true", "false", "null", "nan", "inf")
# Nodes whose keys are no options: they are given as a whole.
WHOLE = ("members", *GROUPS_OF_MANY)
Overrides = Mapping[str, Any] | Iterable[str]


def word(value: Any) -> str:
    """A value as Hydra reads it on a command line.

    >>> word([1, None, True, "relu", "1e-3"])
    "[1,null,true,relu,'1e-3']"
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        # Numbers of numpy are numbers of Python as well, but write their type along.
        return repr(int(value) if isinstance(value, int) else float(value))
    if isinstance(value, Mapping):
        return f"{{{','.join(f'{key}:{word(item)}' for key, item in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{','.join(map(word, value))}]"
    text = str(value)
    if PLAIN_WORD.fullmatch(text) and text.lower() not in NO_STRINGS:
        return text
    # Hydra takes two backslashes for one before a quote alone, and the closing one is one.
    escaped = re.sub(r"(\\*)('|\Z)", lambda m: 2 * m[1] + ("\\'" if m[2] else ""), text)
    return f"'{escaped}'"


def words_of(overrides: Overrides) -> list[str]:
    """Overrides as one types them, from a mapping or from words.

    >>> words_of({"model.width": 40, "probe": ["spectrum", "alignment"]})
    ['model.width=40', 'probe=[spectrum,alignment]']
    >>> words_of({"model": {"name": "vgg", "depth": 11}})
    ['model=vgg', 'model.depth=11']
    """
    if isinstance(overrides, str):
        raise UserError(f"{overrides!r}: expected a list of overrides, [{overrides!r}], or a dict")
    if isinstance(overrides, Mapping):
        return list(_typed(overrides))
    return list(overrides)


def _typed(overrides: Mapping[str, Any]) -> Iterator[str]:
    for key, value in overrides.items():
        if isinstance(value, Mapping) and key not in WHOLE and "." not in key:
            # Each by its own key, as what is typed counts key by key.
            for inner, option_value in value.items():
                name = key if inner == "name" and key in GROUPS else f"{key}.{inner}"
                yield f"{name}={word(_plain(name, option_value))}"
        else:
            yield f"{key}={word(_plain(key, value))}"


def _plain(key: str, value: Any) -> Any:
    """Numbers of numpy and torch as Python's own; what no option can be is refused."""
    if isinstance(value, Mapping):
        return {name: _plain(f"{key}.{name}", item) for name, item in value.items()}
    if isinstance(value, list | tuple | range):
        return [_plain(key, item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if hasattr(value, "tolist"):
        return _plain(key, value.tolist())
    if hasattr(value, "__fspath__"):
        return str(value)
    raise UserError(
        f"{key}: got a {type(value).__name__}; expected a number, a word, None, or a list or dict "
        "of them"
    )
