"""What a table of results looks like: its name, its columns and their types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import pandas as pd

# table -> column -> values
Rows = Mapping[str, Mapping[str, object]]
ColumnType = Literal["int64", "float64", "float32", "string", "bool"]


@dataclass(frozen=True)
class Table:
    """A tidy table: one observation a row, every column of a fixed type.

    `about` says in one sentence what a row is; docs/results.md is held against it by a test.
    """

    name: str
    about: str
    columns: Mapping[str, ColumnType]

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
                name: pd.Series(columns[name], index=pd.RangeIndex(length), dtype=kind)
                if np.isscalar(columns[name])
                else pd.Series(np.asarray(columns[name])).astype(kind)
                for name, kind in self.columns.items()
            }
        )

    def empty(self) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame({n: pd.Series([], dtype=kind) for n, kind in self.columns.items()})
