"""From the rows of a commit to series of numbers: what of the tables is scalar."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from ntkexp.loggers.base import Series

STEP = "step"


def scalar_tables(
    tables: Mapping[str, pd.DataFrame], members: Sequence[str] = ()
) -> dict[str, pd.DataFrame]:
    """The tables with one row a step and choice of words; not a spectrum, nor values at points.

    `members` are the columns that tell the networks of a run apart.
    """
    return {
        name: frame
        for name, frame in tables.items()
        if STEP in frame
        and len(_values(frame, members))
        and not frame.duplicated([STEP, *_words(frame, members)]).any()
    }


def series_of(tables: Mapping[str, pd.DataFrame], members: Sequence[str] = ()) -> list[Series]:
    """The numbers of scalar tables, a series for every choice of words: evals/test/all."""
    return [series for name, frame in tables.items() for series in _series(name, frame, members)]


def _series(table: str, frame: pd.DataFrame, members: Sequence[str]) -> Iterator[Series]:
    words, values = _words(frame, members), _values(frame, members)
    parts = frame.groupby(words, sort=False) if words else [((), frame)]
    for chosen, rows in parts:
        rows = rows.sort_values(STEP, kind="stable")
        labels = [
            f"{word}={value}" if word in members else str(value)
            for word, value in zip(words, chosen, strict=True)
        ]
        yield Series(
            "/".join([table, *labels]),
            rows[STEP].to_numpy(np.int64),
            {column: rows[column].to_numpy(np.float64) for column in values},
        )


def thinned(series: Series, most: int) -> Series:
    """At most so many steps of a series, evenly spaced, with the last one."""
    count = len(series.steps)
    if count <= most:
        return series
    kept = np.unique(np.linspace(count - 1, 0, most).astype(int))
    values = {name: numbers[kept] for name, numbers in series.values.items()}
    return Series(series.name, series.steps[kept], values)


def _words(frame: pd.DataFrame, members: Sequence[str]) -> list[str]:
    return [str(name) for name in frame if name in members or frame[name].dtype.kind not in "fiu"]


def _values(frame: pd.DataFrame, members: Sequence[str]) -> list[str]:
    return [str(name) for name in frame if frame[name].dtype.kind == "f" and name not in members]
