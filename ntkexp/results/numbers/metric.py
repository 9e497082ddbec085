"""A number of a run by its path: `evals.test.loss`, `alignment.test.class.cka.best`.

A path is a table, values of its columns of words (a split, a layer, a subset) that choose among the
rows of a step, and a column of numbers. Columns that nothing is said of are `all` (subset) or
`total` (layer) where they have that value. A column of whole numbers is chosen as `rank:1`. Of the
steps it is the last one, unless `min`, `max` or `best` follows: the best of a loss is its lowest
value, that of an accuracy its highest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ntkexp.errors import UserError, meant

if TYPE_CHECKING:
    import pandas as pd

    from ntkexp.results.table import Table

KEY = "objective_metric"
ENDS = ("last", "min", "max", "best")
USUAL = {"subset": "all", "layer": "total"}
LOWER, HIGHER = ("loss",), ("accuracy", "acc", "cka")
STEP = "step"


@dataclass(frozen=True)
class Metric:
    """A path, taken apart; `chosen` are the words between the table and the column."""

    path: str
    table: str
    chosen: tuple[str, ...]
    column: str
    end: str

    def refused(self, reason: str) -> UserError:
        return UserError(f"{KEY}={self.path}: {reason}")


def parsed(path: str) -> Metric:
    """The table, rows, column and end that a path names.

    >>> parsed("evals.test.loss.best")
    Metric(path='evals.test.loss.best', table='evals', chosen=('test',), column='loss', end='best')
    """
    table, *words = path.split(".")
    end = words.pop() if words and words[-1] in ENDS else "last"
    if not table or not words or not all(words):
        raise UserError(
            f"{KEY}={path}: expected TABLE.COLUMN, with what chooses rows between them, such as "
            "evals.test.loss or evals.test.accuracy.best"
        )
    *chosen, column = words
    metric = Metric(path, table, tuple(chosen), column, end)
    if end == "best" and not column.endswith((*LOWER, *HIGHER)):
        raise metric.refused(f"what is the best {column}? expected .min or .max")
    return metric


def refuse_unknown(path: str, tables: Iterable[Table]) -> None:
    """Refuse a table, a column or a word that a run will not have, before it is trained."""
    metric = parsed(path)
    columns = {table.name: table.columns for table in tables}
    _refuse_missing(metric, columns)
    types = columns[metric.table]
    if types[metric.column].type == "string":
        raise metric.refused(f"{metric.column} holds words; expected a column of numbers")
    words = {name: column.choices for name, column in types.items() if column.type == "string"}
    if not all(words.values()):
        return  # some columns may hold any word
    possible = [word for choices in words.values() for word in choices]
    for word in metric.chosen:
        if word not in possible and word.partition(":")[0] not in types:
            accepted = "; ".join(f"{name}: {', '.join(choices)}" for name, choices in words.items())
            raise metric.refused(f"no row of {metric.table} has {word}; expected one of {accepted}")


def value(path: str, tables: Mapping[str, pd.DataFrame]) -> float:
    """The number itself, from the tables of a finished run."""
    metric, curve = parsed(path), curve_of(path, tables)
    end = metric.end
    if end == "best":
        end = "max" if metric.column.endswith(HIGHER) else "min"
    number = {"last": curve[-1], "min": min(curve), "max": max(curve)}[end]
    if not math.isfinite(number):
        raise metric.refused(f"is {number}, which is no number")
    return number


def curve_of(path: str, tables: Mapping[str, pd.DataFrame]) -> Sequence[float]:
    """The column that a path names, step by step."""
    metric = parsed(path)
    names = {name: tables[name] if name == metric.table else () for name in tables}
    _refuse_missing(metric, names)
    frame = _chosen_rows(metric, tables[metric.table])
    if not len(frame):
        raise metric.refused(f"{metric.table} has no rows")
    if STEP in frame:
        frame = frame.sort_values(STEP, kind="stable")
        if frame[STEP].duplicated().any():
            several = [
                str(name)
                for name in frame
                if name not in (STEP, metric.column)
                and frame[name].dtype.kind != "f"
                and frame[name].nunique() > 1
            ]
            # Members that differ in a fraction alone, such as a rate, have no word that chooses.
            way_out = f"one of {_values(frame, several)}" if several else "a run of one network"
            raise metric.refused(f"{metric.table} has several such rows a step; expected {way_out}")
    return [float(number) for number in frame[metric.column]]


def _chosen_rows(metric: Metric, frame: pd.DataFrame) -> pd.DataFrame:
    """The rows that the words of a path choose; where the path says nothing, the usual ones."""
    words = [str(name) for name in frame if frame[name].dtype.kind not in "fiub"]
    left, used = list(metric.chosen), set[str]()
    while left:
        # The name of a layer may have dots in it.
        for length in range(len(left), 0, -1):
            word = ".".join(left[:length])
            if (column := _column_of(word, frame, words)) is not None:
                break
        else:
            accepted = _values(frame, [name for name in words if name not in used])
            raise metric.refused(f"no row of {metric.table} has {left[0]}; there are {accepted}")
        name, _, number = word.partition(":")
        frame = frame[frame[column] == (int(number) if column == name else word)]
        used.add(column)
        left = left[length:]
    for column, usual in USUAL.items():
        if column in frame and column not in used and (frame[column] == usual).any():
            frame = frame[frame[column] == usual]
    return frame


def _column_of(word: str, frame: pd.DataFrame, words: Sequence[str]) -> str | None:
    """The column that has a word among its values, or that `column:number` names."""
    name, _, number = word.partition(":")
    if name in frame and number.isdigit() and (frame[name] == int(number)).any():
        return name
    return next((column for column in words if (frame[column] == word).any()), None)


def _refuse_missing(metric: Metric, columns_of: Mapping[str, Iterable[object]]) -> None:
    if metric.table not in columns_of:
        guess = meant(metric.table, list(columns_of))
        raise metric.refused(f"no table {metric.table}{guess}; there are {', '.join(columns_of)}")
    columns = [str(name) for name in columns_of[metric.table]]
    if metric.column not in columns:
        guess = meant(metric.column, columns)
        raise metric.refused(
            f"{metric.table} has no column {metric.column}{guess}; it has {', '.join(columns)}"
        )


def _values(frame: pd.DataFrame, columns: Sequence[str]) -> str:
    """The values that stand in some columns, as a path names them: `split: train, test`."""
    texts = []
    for column in columns:
        whole = frame[column].dtype.kind in "iu"
        values = [f"{column}:{value}" if whole else str(value) for value in frame[column].unique()]
        texts.append(f"{column}: {', '.join([*values[:5], '...'] if len(values) > 6 else values)}")
    return "; ".join(texts)
