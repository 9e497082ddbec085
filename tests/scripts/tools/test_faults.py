"""The campaign of faults at system calls: nothing is lost, doubled, changed or left over."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from ntkexp.scripts.tools.faults.campaign import SKIPPED
from ntkexp.scripts.tools.faults.verdict import compare
from ntkexp.scripts.tools.faults.works import WORKS, Reference
from tests.conftest import SCRIPTS


def campaign(*words: str) -> list[int]:
    """The last row of its table: trials, faults that met a call, and what went wrong."""
    script = SCRIPTS / "tools" / "faults" / "campaign.py"
    done = subprocess.run([sys.executable, script, *words], capture_output=True, text=True)
    if done.returncode == SKIPPED:
        pytest.skip(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = re.findall(r"\| all \| (.*) \|", done.stdout)
    return [int(word) for word in row.split(" | ")]


@pytest.mark.slow
def test_a_few_faults_lose_nothing() -> None:
    kinds = ("killed", "told_to_stop", "failing", "plain_disk")
    trials, faults, *wrong = campaign("4", *(f"--kind={kind}" for kind in kinds))
    assert trials == 4 and faults >= 4 and not any(wrong)


@pytest.mark.on_demand
def test_hundreds_of_faults_lose_nothing() -> None:
    trials, faults, *wrong = campaign("300")
    assert trials == 300 and faults >= 300 and not any(wrong)


ROWS = pd.DataFrame({"step": [0, 1, 2], "loss": [2.3, 1.7, 1.1]})
SPOILT = {
    "lost": lambda run: ROWS[:2].to_parquet(run / "steps.parquet"),
    "doubled": lambda run: pd.concat([ROWS, ROWS[2:]]).to_parquet(run / "steps.parquet"),
    "changed": lambda run: ROWS.astype("float64").to_parquet(run / "steps.parquet"),
    "leftover": lambda run: (run / "unfinished").mkdir(),
}


@pytest.mark.parametrize("column", SPOILT)
def test_the_verdict_sees_what_is_wrong(tmp_path: Path, column: str) -> None:
    for home in ("undisturbed", "disturbed"):
        (tmp_path / home / "outputs" / "disk" / "7").mkdir(parents=True)
        ROWS.to_parquet(tmp_path / home / "outputs" / "disk" / "7" / "steps.parquet")
    reference = Reference(WORKS["train"], tmp_path / "undisturbed", [], set())
    assert not list(compare(tmp_path / "disturbed", reference))
    SPOILT[column](tmp_path / "disturbed" / "outputs" / "disk" / "7")
    assert [found for found, _ in compare(tmp_path / "disturbed", reference)] == [column]
