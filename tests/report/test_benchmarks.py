"""Tables of timings: what they tell of themselves, and which of two folders counts."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pandas as pd
import pytest

from ntkexp.errors import UserError
from ntkexp.report.sheets import benchmarks, origin, read_timings
from ntkexp.scripts.tools.bench.timings import write_timings

ROWS = [{"case": "a", "seconds": 0.5}, {"case": "b", "seconds": 2.0}]


def test_a_table_says_how_it_came_about(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["/home/me/ntkexp/scripts/bench_speed.py", "--rounds", "3"])
    write_timings(ROWS, tmp_path / "new" / "speed.parquet", "Time it.\n\nMore.", "3 threads")
    (read,) = read_timings(tmp_path / "new").values()
    assert read.to_dict("records") == ROWS
    line = origin(read)
    assert line.startswith("python bench_speed.py --rounds 3: ")
    assert f", {os.cpu_count()} cores, 3 threads, torch 2." in line
    page = benchmarks({"speed": read})
    assert line in page
    assert "<h3>Time it</h3>" in page


def test_the_first_folder_that_has_a_table_counts(tmp_path: Path) -> None:
    own, kept = tmp_path / "own", tmp_path / "kept"
    write_timings(ROWS, kept / "speed.parquet", None, "")
    write_timings(ROWS, kept / "size.parquet", None, "")
    write_timings(ROWS[:1], own / "speed.parquet", None, "")
    assert {name: len(table) for name, table in read_timings(own, kept).items()} == {
        "size": 2,
        "speed": 1,
    }
    assert read_timings(tmp_path / "absent") == {}


def test_a_table_that_does_not_say_is_shown_all_the_same(tmp_path: Path) -> None:
    pd.DataFrame(ROWS).to_parquet(tmp_path / "speed.parquet")
    (read,) = read_timings(tmp_path).values()
    assert origin(read) == ""
    assert "<h3>disk speed</h3>" in benchmarks({"disk_speed": read})


def test_numbers_are_written_out(tmp_path: Path) -> None:
    rows = [{"rate": 1366.2, "share": 0.41234, "target": float("nan")}]
    write_timings(rows, tmp_path / "speed.parquet", None, "")
    page = benchmarks(read_timings(tmp_path))
    assert re.findall(r'<td class="number">(.*?)</td>', page) == ["1,366", "0.412", "–"]


def test_a_broken_table_is_named(tmp_path: Path) -> None:
    broken = tmp_path / "speed.parquet"
    broken.write_bytes(b"not a table")
    with pytest.raises(UserError, match=rf"^{broken}: no table that can be read"):
        read_timings(tmp_path)


def test_a_benchmark_run_case_by_case_keeps_the_other_cases(tmp_path: Path) -> None:
    file = tmp_path / "made.parquet"
    first = [{"case": "a", "seconds": 1.0}, {"case": "b", "seconds": 2.0}]
    write_timings(first, file, "Made.", "1 thread", by="case")
    more = [{"case": "c", "seconds": 4.0}, {"case": "a", "seconds": 3.0}]
    write_timings(more, file, "Made.", "1 thread", by="case")
    found = read_timings(tmp_path)["made"]
    assert [*zip(found["case"], found["seconds"], strict=True)] == [("a", 3), ("b", 2), ("c", 4)]
    with pytest.raises(SystemExit, match=r"made\.parquet: its rows are of .*2 threads"):
        write_timings(more, file, "Made.", "2 threads", by="case")
