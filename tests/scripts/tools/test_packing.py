"""Kept tables take the room of their shortest encodings, and lose nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ntkexp.scripts.tools.packing import smallest, write_packed

DRAWN = np.random.default_rng(0)
COLUMNS = {
    "counter": (np.arange(3000), "DELTA_BINARY_PACKED"),
    "few numbers": (DRAWN.choice([3, 10**9, 77], 3000), "DICTIONARY"),
    "losses": (np.exp(DRAWN.normal(size=3000)), "BYTE_STREAM_SPLIT"),
    "few losses": (DRAWN.choice([0.125, 0.3], 3000), "DICTIONARY"),
    "words": (DRAWN.choice(["train", "test"], 3000), "DICTIONARY"),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_takes_the_encoding_that_is_shortest_for_its_values(name: str) -> None:
    values, encoding = COLUMNS[name]
    assert smallest(pa.table({name: values})) == encoding


def test_a_packed_table_is_the_same_and_short(tmp_path: Path) -> None:
    table = pa.table({name: values for name, (values, _) in COLUMNS.items()})
    write_packed(tmp_path / "packed.parquet", table)
    pq.write_table(table, tmp_path / "plain.parquet")
    assert pq.read_table(tmp_path / "packed.parquet").equals(table)
    packed, plain = ((tmp_path / f"{name}.parquet").stat().st_size for name in ("packed", "plain"))
    assert packed < 0.6 * plain
