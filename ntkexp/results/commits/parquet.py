"""A table as the bytes of a parquet file, the same bytes for the same rows."""

from __future__ import annotations

import io

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
