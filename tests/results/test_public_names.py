"""`from ntkexp import results`: what it names is there, and older folders can be read."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import torch

from ntkexp import results
from ntkexp.results.provenance import provenance
from ntkexp.results.reading import read_table, table_files
from ntkexp.results.status import CARD, read_card


@pytest.mark.parametrize("name", results.__all__)
def test_a_public_name_is_there(name: str) -> None:
    assert getattr(results, name).__module__.startswith("ntkexp.results.")


def test_another_name_is_told_as_any_module_tells_it() -> None:
    with pytest.raises(AttributeError, match=r"module ntkexp\.results has no attribute other"):
        _ = results.other


def test_a_run_from_before_files_were_listed_has_the_tables_of_its_folder(tmp_path: Path) -> None:
    rows = pd.DataFrame({"step": [0, 1]})
    rows.to_parquet(tmp_path / "evals.parquet")
    (tmp_path / "log.txt").write_text("no table")
    found = table_files(tmp_path)
    assert [*found] == ["evals"]
    assert read_table(found["evals"]).equals(rows)


def test_a_card_of_another_format_is_none(tmp_path: Path) -> None:
    (tmp_path / CARD).write_text('{"format": 1000}')
    assert read_card(tmp_path) is None


def test_provenance_tells_of_the_machine() -> None:
    facts = provenance()
    assert facts["memory_bytes"] > 2**28
    assert facts["cpu_count"] >= 1
    assert facts["versions"]["torch"] == torch.__version__
