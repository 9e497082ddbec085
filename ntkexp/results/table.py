"""Tables of results: their columns, and their rows as parquet files and back.

A probe declares its tables where it is defined, so pandas is imported where there are rows.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

# The version of the format in which runs are kept.
SCHEMA_VERSION = 1
ROWS_A_GROUP = 1 << 17
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

    `about` says in one sentence what a row is, `notes` what else there is to know. The page of
    tables and `ntkexp options probe=NAME` are made of this.
    """

    name: str
    about: str
    columns: Mapping[str, Column]
    notes: str = ""

    def with_choices(self, choices: Mapping[str, tuple[str, ...]]) -> Table:
        """This table in a run in which these words may stand in its columns."""
        columns = {
            name: replace(column, choices=choices[name]) if name in choices else column
            for name, column in self.columns.items()
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
        # Whatever they come as: a length that is overlooked would make rows without a value.
        arrays = {name: np.asarray(columns[name]) for name in self.columns}
        lengths = {len(array) for array in arrays.values() if array.ndim}
        if len(lengths) > 1:
            raise ValueError(f"table {self.name}: columns of lengths {sorted(lengths)}")
        length = lengths.pop() if lengths else 1
        return pd.DataFrame(
            {
                name: pd.Series(array).astype(self.columns[name].type)
                if array.ndim
                else pd.Series(
                    array.item(), index=pd.RangeIndex(length), dtype=self.columns[name].type
                )
                for name, array in arrays.items()
            }
        )

    def empty(self) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame({n: pd.Series([], dtype=c.type) for n, c in self.columns.items()})


@dataclass(frozen=True)
class Array:
    """An array that a probe keeps at every look, as the file NAME.STEP.npy.

    `about` says what it is, with its shape: `eigenvectors, (n, k)`.
    """

    name: str
    about: str


def declared(tables: Mapping[str, Table], name: str) -> Table:
    if name not in tables:
        raise ValueError(f"table {name}: is not declared; declared are {', '.join(tables)}")
    return tables[name]


def parquet(name: str, frame: pd.DataFrame) -> bytes:
    """The bytes of a parquet file, the same for the same rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_pandas(frame, preserve_index=False)
    marks = {"ntkexp.table": name, "ntkexp.schema": str(SCHEMA_VERSION)}
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), **marks})
    file = io.BytesIO()
    # Fixed row groups: the file depends on the rows alone, not on where parts were cut.
    pq.write_table(table, file, compression="zstd", row_group_size=ROWS_A_GROUP)
    return file.getvalue()


def table_of(content: bytes, columns: list[str] | None = None) -> pa.Table:
    """The rows of a parquet file, by its bytes; those of `columns` that it has.

    It starts no thread. Arrow's threads would hold the bytes, which are Python's; where one of them
    lets go while Python is being shut down, the process is aborted, when all its work is done.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    # Not by pq.read_table, which has threads whatever one asks for.
    with pq.ParquetFile(pa.BufferReader(content)) as file:
        return file.read(columns, use_threads=False)


def frame_of(content: bytes, columns: list[str] | None = None) -> pd.DataFrame:
    """The rows of a parquet file as a frame, with the attributes that pandas wrote."""
    table = table_of(content, columns)
    frame: pd.DataFrame = table.to_pandas(use_threads=False)
    frame.attrs = json.loads((table.schema.metadata or {}).get(b"PANDAS_ATTRS", "{}"))
    return frame
