"""The store: nothing torn, nothing twice, nothing lost."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from ntkexp import results
from ntkexp.errors import UserError
from ntkexp.results.atomic import replacing
from ntkexp.results.lock import Lock, RunTakenError
from ntkexp.results.store import Run
from ntkexp.results.table import Table

LOSSES = Table("losses", "one row a step", {"step": "int64", "loss": "float64"})


def save(path: Path, commits: int) -> None:
    path.write_text(str(commits))


def begun(folder: Path, seed: int = 0) -> Run:
    run = Run(folder, [LOSSES])
    run.__enter__()
    run.begin(f"seed: {seed}\nmodel: {{width: {10 * seed}}}\ndevice: cpu\n", {})
    return run


def test_a_run_killed_between_parts_and_checkpoint_has_neither_rows_twice_nor_missing(
    tmp_path: Path,
) -> None:
    run = begun(tmp_path)
    run.add("losses", {"step": [0, 1], "loss": [3.0, 2.0]})
    run.commit(save)
    run.add("losses", {"step": [2], "loss": [1.0]})

    def killed(path: Path, commits: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run.commit(killed)
    run.__exit__()

    second = begun(tmp_path)
    second.resume(int(second.checkpoint.read_text()))
    second.add("losses", {"step": [2], "loss": [1.0]})
    second.finish()
    second.__exit__()
    assert results.load(tmp_path)["losses"]["step"].tolist() == [0, 1, 2]


def test_tables_do_not_depend_on_where_the_parts_were_cut(tmp_path: Path) -> None:
    for name, cuts in (("whole", []), ("cut", [1, 4, 5])):
        run = begun(tmp_path / name)
        for step in range(8):
            run.add("losses", {"step": step, "loss": 1 / (step + 1)})
            if step in cuts:
                run.commit(save)
        run.finish()
    files = [(tmp_path / name / "losses.parquet").read_bytes() for name in ("whole", "cut")]
    assert files[0] == files[1]


def test_a_table_takes_exactly_its_columns() -> None:
    with pytest.raises(ValueError, match="losses"):
        LOSSES.frame({"step": 1})
    with pytest.raises(ValueError, match="lengths"):
        LOSSES.frame({"step": [1, 2], "loss": [1.0]})
    assert LOSSES.frame({"step": [1, 2], "loss": 0.5}).dtypes.tolist() == ["int64", "float64"]


def test_a_sweep_is_read_as_one_table_with_its_varied_keys(tmp_path: Path) -> None:
    for seed in (1, 2):
        run = begun(tmp_path / "exp" / f"run{seed}", seed)
        run.add("losses", {"step": [0, 1], "loss": [1.0, 0.5]})
        run.finish()
    unfinished = begun(tmp_path / "exp" / "run3", 3)
    unfinished.add("losses", {"step": [0], "loss": [1.0]})
    unfinished.commit(save)

    frame = results.load(tmp_path / "exp")["losses"]
    assert sorted(frame.columns) == ["loss", "model.width", "run", "seed", "step"]
    assert frame.groupby("run")["model.width"].first().to_dict() == {"run1": 10, "run2": 20}


def test_results_of_another_schema_are_refused_by_name(tmp_path: Path) -> None:
    run = begun(tmp_path)
    run.finish()
    status = json.loads((tmp_path / "status.json").read_text())
    (tmp_path / "status.json").write_text(json.dumps(status | {"schema": 999}))
    with pytest.raises(UserError, match="999"):
        results.load(tmp_path)


@pytest.mark.parametrize(
    ("text", "complaint"), [("name: [1,\n", "is not YAML: "), ("12", "is not a mapping")]
)
def test_a_broken_config_is_named_in_one_line(tmp_path: Path, text: str, complaint: str) -> None:
    begun(tmp_path).finish()
    (tmp_path / "config.yaml").write_text(text)
    with pytest.raises(UserError, match=complaint) as refused:
        results.load(tmp_path)
    assert str(refused.value).startswith(str(tmp_path / "config.yaml"))
    assert "\n" not in str(refused.value)


def test_a_reader_sees_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(RuntimeError), replacing(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_one_clear_line_and_what_was_there_stays(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    path.write_bytes(b"old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with (
            pytest.raises(UserError, match=r"cannot write .*table\.parquet"),
            replacing(path) as file,
        ):
            file.write_bytes(b"x" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert path.read_bytes() == b"old"


def test_two_processes_cannot_work_on_one_run(tmp_path: Path) -> None:
    first = Lock(tmp_path / "lock")
    first.take()
    with pytest.raises(RunTakenError, match=str(os.getpid())):
        Lock(tmp_path / "lock").take()
    first.release()
    Lock(tmp_path / "lock").take()


def test_the_lock_of_a_dead_process_is_taken_over(tmp_path: Path) -> None:
    source = (
        "from pathlib import Path\nfrom ntkexp.results.lock import Lock\n"
        f"Lock(Path({str(tmp_path / 'lock')!r})).take()\n"
    )
    subprocess.run([sys.executable, "-c", source], check=True)
    assert (tmp_path / "lock").exists()
    Lock(tmp_path / "lock").take()
    assert str(os.getpid()) in (tmp_path / "lock").read_text()


def test_of_many_that_find_a_stale_lock_one_gets_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    dead = {"host": os.uname().nodename, "pid": 2**22 + 1, "born": "0"}
    path.write_text(json.dumps(dead))
    source = (
        "import sys, time\nfrom pathlib import Path\n"
        "from ntkexp.results.lock import Lock, RunTakenError\n"
        f"lock = Lock(Path({str(path)!r}))\n"
        "time.sleep(max(0, float(sys.argv[1]) - time.time()))\n"
        "try:\n    lock.take()\nexcept RunTakenError:\n    print('taken')\n"
        "else:\n    print('mine')\n"
        "time.sleep(1)\n"
    )
    import time

    start = str(time.time() + 1.0)
    racers = [
        subprocess.Popen([sys.executable, "-c", source, start], stdout=subprocess.PIPE, text=True)
        for _ in range(6)
    ]
    words = [racer.communicate()[0].strip() for racer in racers]
    assert sorted(words) == ["mine"] + ["taken"] * 5


def test_a_lock_on_another_machine_holds_until_it_falls_silent(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.write_text(json.dumps({"host": "another", "pid": 1, "born": "0"}))
    with pytest.raises(RunTakenError, match="another"):
        Lock(path).take()
    os.utime(path, (0, 0))
    Lock(path).take()


def test_provenance_adds_a_life_for_every_resumed_start(tmp_path: Path) -> None:
    run = begun(tmp_path)
    run.note({"seconds": 1})
    run.commit(save)
    run.__exit__()
    begun(tmp_path)
    lives = json.loads((tmp_path / "provenance.json").read_text())["lives"]
    assert [life.get("seconds") for life in lives] == [1, None]


def test_an_empty_table_keeps_its_types(tmp_path: Path) -> None:
    begun(tmp_path).finish()
    assert pd.read_parquet(tmp_path / "losses.parquet").dtypes.tolist() == ["int64", "float64"]
