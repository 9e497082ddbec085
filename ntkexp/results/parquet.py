"""A table as the bytes of a parquet file, the same bytes for the same rows; and back.

Reading starts no thread. Arrow's threads would hold the bytes, which are Python's; where one of
them lets go while Python is being shut down, the process is aborted, when all its work is done.
"""

from __future__ import annotations

import io
import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from ntkexp.keys import SCHEMA_VERSION

ROWS_A_GROUP = 1 << 17


def parquet(name: str, frame: pd.DataFrame) -> tuple[bytes, int]:
    table = pa.Table.from_pandas(frame, preserve_index=False)
    marks = {"ntkexp.table": name, "ntkexp.schema": str(SCHEMA_VERSION)}
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), **marks})
    file = io.BytesIO()
    # Fixed row groups: the file depends on the rows alone, not on where parts were cut.
    pq.write_table(table, file, compression="zstd", row_group_size=ROWS_A_GROUP)
    return file.getvalue(), len(frame)


def table_of(content: bytes) -> pa.Table:
    """The rows of a parquet file, by its bytes."""
    # Not by pq.read_table, which has threads whatever one asks for.
    with pq.ParquetFile(pa.BufferReader(content)) as file:
        return file.read(use_threads=False)


def frame_of(content: bytes) -> pd.DataFrame:
    """The rows of a parquet file as a frame, with the attributes that pandas wrote."""
    table = table_of(content)
    frame: pd.DataFrame = table.to_pandas(use_threads=False)
    frame.attrs = json.loads((table.schema.metadata or {}).get(b"PANDAS_ATTRS", "{}"))
    return frame
