"""Tables read back from the bytes of parquet files: what is read, and by how many threads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from ntkexp.results.table import frame_of, parquet

ROOT = Path(__file__).parents[2]
PACKAGE, REFERENCE = ROOT / "ntkexp", ROOT / "outputs" / "reference"
# One of every kind of table.
KEPT = {file.stem: file for file in sorted(REFERENCE.rglob("*.parquet"))}
# A table in which threads would have something to do.
COLUMNS = {name: [float(row) for row in range(1000)] for name in "abcdef"}

COUNTED = """
import os, sys
from pathlib import Path
import pandas, pyarrow.parquet
from ntkexp.results.table import frame_of
threads = lambda: len(os.listdir("/proc/self/task"))
before = threads()
print(len(frame_of(Path(sys.argv[1]).read_bytes())), threads() - before)
"""


@pytest.mark.parametrize("file", KEPT.values(), ids=KEPT)
def test_a_table_is_read_as_pandas_reads_it(file: Path) -> None:
    expected, found = pd.read_parquet(file), frame_of(file.read_bytes())
    pd.testing.assert_frame_equal(found, expected, check_exact=True)
    assert found.attrs == expected.attrs


def test_attributes_come_along(tmp_path: Path) -> None:
    frame = pd.DataFrame(COLUMNS)
    frame.attrs = {"command": "make bench", "commit": ""}
    frame.to_parquet(tmp_path / "a.parquet")
    assert frame_of((tmp_path / "a.parquet").read_bytes()).attrs == frame.attrs


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted in /proc")
def test_reading_starts_no_thread(tmp_path: Path) -> None:
    """A thread of Arrow that holds bytes of Python aborts a process that ends: one of twenty, on a
    busy machine."""
    (tmp_path / "a.parquet").write_bytes(parquet("a", pd.DataFrame(COLUMNS)))
    words = [sys.executable, "-c", COUNTED, str(tmp_path / "a.parquet")]
    found = subprocess.run(words, capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["1000", "0"]


def test_no_other_module_reads_tables() -> None:
    elsewhere = [
        str(file.relative_to(ROOT))
        for file in sorted(PACKAGE.rglob("*.py"))
        for word in ("read_parquet(", "pq.read_table(", "pq.ParquetFile(")
        if word in file.read_text(encoding="utf-8")
    ]
    # The first two read other people's files from a path, of which Arrow holds nothing of Python's.
    assert elsewhere == [
        "ntkexp/data/images/parquet.py",
        "ntkexp/foreign/pairs.py",
        "ntkexp/results/table.py",
    ]
