"""Tables as the repository keeps them: every column in the encoding that takes the least room.

Which one that is follows from the values: a counter is short as differences, an accuracy with few
values as a dictionary, a loss with its bytes split. None of them loses anything, and every reader
of Parquet knows them.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ntkexp.results.files import replacing

DICTIONARY = "DICTIONARY"


def write_packed(path: Path, table: pa.Table) -> None:
    chosen = {name: smallest(table.select([name])) for name in table.schema.names}
    with replacing(path) as temporary:
        pq.write_table(table, temporary, **_options(chosen))


def smallest(column: pa.Table) -> str:
    """The encoding in which a table of one column takes the fewest bytes."""
    (field,) = column.schema
    sizes = {}
    for encoding in _possible(field.type):
        written = io.BytesIO()
        pq.write_table(column, written, **_options({field.name: encoding}))
        sizes[encoding] = written.tell()
    return min(sizes, key=sizes.__getitem__)


def _possible(kind: pa.DataType) -> tuple[str, ...]:
    if pa.types.is_floating(kind):
        return ("BYTE_STREAM_SPLIT", DICTIONARY)
    if pa.types.is_integer(kind):
        return (DICTIONARY, "DELTA_BINARY_PACKED")
    return (DICTIONARY,)


def _options(chosen: dict[str, str]) -> dict[str, Any]:
    others = {name: encoding for name, encoding in chosen.items() if encoding != DICTIONARY}
    return {
        "compression": "zstd",
        "compression_level": 19,
        "use_dictionary": [name for name in chosen if name not in others],
        "column_encoding": others or None,
    }
