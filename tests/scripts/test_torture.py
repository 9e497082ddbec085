"""The fault campaign: a minute of it, and that it would see what it looks for."""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from ntkexp.scripts.faults import table
from ntkexp.scripts.faults.verdict import Verdict, compare, compare_tables
from ntkexp.scripts.faults.watch import Fault, Operation, Watch, operations
from tests.conftest import SCRIPTS

linux = pytest.mark.skipif(sys.platform != "linux", reason="follows processes through /proc")


@linux
@pytest.mark.slow
def test_a_minute_of_faults_loses_nothing() -> None:
    done = subprocess.run(
        [sys.executable, SCRIPTS / "torture.py", "1", "--jobs", "2"],
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


def watched(top: Path, log: Path, fault: Fault) -> int:
    """How a process ends that does six things to files, in the hands of `fault`."""
    pid = os.fork()
    if pid == 0:
        code = 9
        try:
            Watch(top, log, fault).install()
            (top / "a").mkdir()
            with (top / "a" / ".b.tmp").open("w") as file:
                os.fsync(file)
            (top / "a" / ".b.tmp").replace(top / "a" / "b")
            (top / "a" / "b").read_text()
            (top / "a" / "b").unlink()
            os.rmdir("a", dir_fd=os.open(top, os.O_RDONLY))
            (top.parent / "elsewhere").mkdir()
            code = 0
        except OSError as error:
            code = error.errno or 9
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@linux
def test_operations_on_files_are_counted_and_one_is_met_by_the_fault(tmp_path: Path) -> None:
    def top(number: int) -> Path:
        folder = tmp_path / str(number) / "outputs"
        folder.mkdir(parents=True)
        return folder

    log = tmp_path / "log"
    assert watched(top(0), log, Fault()) == 0
    names = [(done.name, done.path) for done in operations(log)]
    expected = ("mkdir a", "open a/.b.tmp", "fsync a/.b.tmp", "rename a/b", "remove a/b", "rmdir a")
    assert names == [tuple(line.split()) for line in expected]

    folder = top(1)
    assert watched(folder, tmp_path / "log 1", Fault(4, "kill")) == -signal.SIGKILL
    assert [path.name for path in folder.glob("a/*")] == [".b.tmp"]
    assert [done.hit for done in operations(tmp_path / "log 1")] == [False] * 3 + [True]

    folder = top(2)
    full = Fault(3, "error", error="ENOSPC", lasting=True)
    assert watched(folder, tmp_path / "log 2", full) == errno.ENOSPC

    signals = Fault(2, "signals", signals=("SIGCONT",), killed_after=3)
    assert watched(top(3), tmp_path / "log 3", signals) == -signal.SIGKILL
    assert len(operations(tmp_path / "log 3")) == 5


def test_moments_have_names_that_no_process_or_part_changes() -> None:
    paths = {
        "disk/9f/.steps.parquet.8020.tmp": "rename TABLE",
        "disk/9f/unfinished/life.0001/status.json": "rename in unfinished/",
        "disk/9f/steps.parquet": "rename TABLE",
        "disk/9f": "rename folder",
    }
    assert {path: Operation(1, "rename", path).where for path in paths} == paths


def test_a_campaign_that_went_wrong_says_how_to_do_it_again() -> None:
    telling = {
        "name": "killed/3",
        "kind": "killed",
        "counts": {"lost": 2, "faults": 1},
        "hits": {"rename checkpoint.pt": 1},
        "notes": ["kill at operation 7"],
        "skipped": "",
    }
    assert table.bad(telling)
    assert not table.bad(telling | {"counts": {"faults": 1, "refused": 1}})
    told = table.rendered(telling, "5")
    assert "2 rows lost" in told
    assert "scripts/torture.py --seed 5 --only killed/3" in told
    summary = table.summary([telling, telling], 60.0)
    assert "| all | 2 | 2 | 4 |" in summary
    assert "rename checkpoint.pt 2" in summary
