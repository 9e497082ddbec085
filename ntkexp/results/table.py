"""Tables of results: name, columns and their types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import pandas as pd

# table -> column -> values
Rows = Mapping[str, Mapping[str, object]]
ColumnType = Literal["int64", "float64", "float32", "string", "bool"]


@dataclass(frozen=True)
class Column:
    """The type of a column and what it is, in one phrase, with its unit or range.

    `choices` are all the words that may stand in it, where those are known.
    """

    type: ColumnType
    about: str
    choices: tuple[str, ...] = ()


int64 = partial(Column, "int64")
float64 = partial(Column, "float64")
float32 = partial(Column, "float32")
string = partial(Column, "string")
boolean = partial(Column, "bool")
STEP = int64("updates done when it was measured; 0 is before the first")


@dataclass(frozen=True)
class Table:
    """A tidy table: one observation a row, every column of a fixed type.

        Table("losses", "the loss after a step", {"step": STEP, "loss": float64("mean, in nats")})

    `about` says in one sentence what a row is, `notes` what else there is to know. docs/results.md
    is made of this by scripts/tools/pages/results.py.
    """

    name: str
    about: str
    columns: Mapping[str, Column]
    notes: str = ""

    def with_choices(self, choices: Mapping[str, tuple[str, ...]]) -> Table:
        """This table in a run in which these words may stand in its columns."""
        columns = {
            name: replace(one, choices=choices[name]) if name in choices else one
            for name, one in self.columns.items()
        }
        return replace(self, columns=columns)

    def frame(self, columns: Mapping[str, object]) -> pd.DataFrame:
        """Typed rows from arrays of one length; scalars are repeated. Names must match exactly."""
        import numpy as np
        import pandas as pd

        if set(columns) != set(self.columns):
            raise ValueError(
                f"table {self.name}: columns {sorted(columns)}, expected {sorted(self.columns)}"
            )
        lengths = {len(v) for v in columns.values() if isinstance(v, np.ndarray | list | pd.Series)}
        if len(lengths) > 1:
            raise ValueError(f"table {self.name}: columns of lengths {sorted(lengths)}")
        length = lengths.pop() if lengths else 1
        return pd.DataFrame(
            {
                name: pd.Series(columns[name], index=pd.RangeIndex(length), dtype=one.type)
                if np.isscalar(columns[name])
                else pd.Series(np.asarray(columns[name])).astype(one.type)
                for name, one in self.columns.items()
            }
        )

    def empty(self) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame({n: pd.Series([], dtype=c.type) for n, c in self.columns.items()})
