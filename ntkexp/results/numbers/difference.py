"""Where the tables of two runs first differ, and by how much: do they repeat each other?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from pandas.api.types import is_float_dtype

ROW = "row of the table"


def differences(a: Mapping[str, pd.DataFrame], b: Mapping[str, pd.DataFrame]) -> Iterator[str]:
    """A line for each table that one of two runs has."""
    for name in sorted({*a, *b}):
        if name in a and name in b:
            yield f"{name}: {difference(a[name], b[name])}"
        else:
            yield f"{name}: the {'first' if name in a else 'second'} run alone has it"


def difference(a: pd.DataFrame, b: pd.DataFrame) -> str:
    """The first row in which two tables differ, and the largest difference.

    >>> a = pd.DataFrame({"step": [0, 1, 2], "loss": [1.0, 0.5, 0.2]})
    >>> difference(a, a.assign(loss=[1.0, 0.5, 0.3]))
    'first at step 2, in loss: 0.2 against 0.3; at most 0.1'
    """
    if a.equals(b):
        return f"the same in all {len(a):,} rows"
    floats = [str(name) for name in a if name in b and is_float_dtype(a[name])]
    keys = [str(name) for name in a if name in b and name not in floats]
    # Rows of equal keys, as of networks that differ in a fraction, are matched in their order.
    numbered = [frame.assign(**{ROW: _among_equals(frame, keys)}) for frame in (a, b)]
    both = numbered[0].merge(numbered[1], on=[*keys, ROW], suffixes=("", " of b"))
    many = f"; {len(a):,} and {len(b):,} rows, of which {len(both):,} are of both"
    others = "" if len(both) == len(a) == len(b) else many
    first = both[floats].to_numpy(float)
    second = both[[f"{name} of b" for name in floats]].to_numpy(float)
    same = (first == second) | (np.isnan(first) & np.isnan(second))
    with np.errstate(invalid="ignore"):  # infinite on one side, or with another sign
        apart = np.nan_to_num(np.where(same, 0.0, np.abs(first - second)), nan=np.inf)
    if not apart.any():
        return f"the same in the rows of both{others}"
    row, column = np.argwhere(apart)[0]
    where = ", ".join(f"{key} {both[key].iloc[row]}" for key in keys or [ROW])
    values = f"{first[row, column]:.6g} against {second[row, column]:.6g}"
    return f"first at {where}, in {floats[column]}: {values}; at most {apart.max():.2g}{others}"


def _among_equals(frame: pd.DataFrame, keys: list[str]) -> pd.Series:
    """The number of each row among those of equal keys."""
    if not keys:
        return pd.Series(range(len(frame)), frame.index)
    return frame.groupby(keys, dropna=False).cumcount()
