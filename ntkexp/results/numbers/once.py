"""What is computed from a table once, since a dozen claims and figures read the same curve."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar
from weakref import ref

import pandas as pd

Options = ParamSpec("Options")
Found = TypeVar("Found")


def once(
    function: Callable[Concatenate[pd.DataFrame, Options], Found],
) -> Callable[Concatenate[pd.DataFrame, Options], Found]:
    """The function, which computes once for each table and options and goes with the table.

    Tables have no hash: they are told by what they are, not by what they hold.
    """
    kept: dict[Any, tuple[Any, Found]] = {}

    @wraps(function)
    def value(table: pd.DataFrame, /, *given: Options.args, **named: Options.kwargs) -> Found:
        key = (id(table), given, tuple(named.items()))
        if key not in kept:
            kept[key] = ref(table, lambda _: kept.pop(key)), function(table, *given, **named)
        return kept[key][1]

    return value
