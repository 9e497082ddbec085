"""The fault campaign: a minute of it, and that it would see what it looks for."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from ntkexp.scripts.tools.faults.verdict import Verdict, compare, compare_tables
from tests.conftest import SCRIPTS


@pytest.mark.on_demand
@pytest.mark.skipif(sys.platform != "linux", reason="follows processes through /proc")
def test_a_minute_of_faults_loses_nothing() -> None:
    done = subprocess.run(
        [sys.executable, SCRIPTS / "tools" / "torture.py", "1", "--jobs", "2"],
        capture_output=True,
        text=True,
        timeout=540,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    campaigns, faults = re.findall(r"\| all \| (\d+) \| (\d+) \|", done.stdout)[0]
    assert int(campaigns) >= 8
    assert int(faults) >= 8


def frame(*rows: tuple[int, float]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["step", "loss"])


WHOLE = frame((0, 2.0), (1, 1.0), (2, float("nan")))


@pytest.mark.parametrize(
    ("got", "lost", "doubled", "differing"),
    [
        (WHOLE, 0, 0, 0),
        (frame((0, 2.0), (2, float("nan"))), 1, 0, 0),
        (frame((0, 2.0), (1, 1.0), (1, 1.0), (2, float("nan"))), 0, 1, 0),
        (frame((0, 2.0), (1, 1.5), (2, float("nan"))), 0, 0, 1),
        (frame((1, 1.0), (0, 2.0), (2, float("nan"))), 0, 0, 1),
        (WHOLE.astype({"step": "int32"}), 0, 0, 1),
        (None, 3, 0, 0),
    ],
)
def test_rows_are_lost_doubled_or_other(
    got: pd.DataFrame | None, lost: int, doubled: int, differing: int
) -> None:
    verdict = Verdict()
    compare_tables(got, WHOLE, "losses", verdict)
    assert (verdict.lost, verdict.doubled, verdict.differing) == (lost, doubled, differing)


def test_a_file_that_no_undisturbed_run_has_is_left_over(tmp_path: Path) -> None:
    for top in ("whole", "disturbed"):
        run = tmp_path / top / "disk" / "0123"
        run.mkdir(parents=True)
        (run / "status.json").write_text('{"state": "finished"}')
        WHOLE.to_parquet(run / "losses.parquet")
    assert compare(tmp_path / "disturbed", tmp_path / "whole") == Verdict()
    (run / ".checkpoint.pt.77.tmp").touch()
    assert compare(tmp_path / "disturbed", tmp_path / "whole").left_over == 1
    (run / "status.json").write_text('{"state": "running"}')
    assert compare(tmp_path / "disturbed", tmp_path / "whole").differing == 1
