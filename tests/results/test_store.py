"""The store: nothing torn, nothing twice, nothing lost."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import resource
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from ntkexp import results
from ntkexp.errors import DamagedRunError, RunLostError, UserError
from ntkexp.results.commits import Commit, StoredFile
from ntkexp.results.files import replacing
from ntkexp.results.status import Card, forget_work, read_status, status_text
from ntkexp.results.store import Run
from ntkexp.results.table import Table, float64, int64

LOSSES = Table("losses", "one row a step", {"step": int64("x"), "loss": float64("x")})


def begun(folder: Path, seed: int = 0) -> Run:
    """A run as its process has it after its first moments, or after it was taken up again."""
    run = Run(folder, [LOSSES])
    run.__enter__()
    run.resume()
    run.begin(f"seed: {seed}\nmodel: {{width: {10 * seed}}}\ndevice: cpu\n", {})
    return run


def card(**facts: object) -> Card:
    return Card("exp", "train", {}, facts=facts)


def add(run: Run, *steps: int) -> None:
    run.add("losses", {"step": list(steps), "loss": [1 / (step + 1) for step in steps]})


def kill(run: Run) -> None:
    """What the kernel does for a process that is killed: its lock goes, its files stay."""
    assert run._lock._descriptor is not None
    os.close(run._lock._descriptor)
    run._lock._descriptor = None


def steps_of(folder: Path) -> list[int]:
    return results.load(folder)["losses"]["step"].tolist()


def publish_nothing(*arguments: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("commits", [0, 1, 2])
def test_parts_of_a_commit_that_never_came_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commits: int
) -> None:
    run = begun(tmp_path)
    for step in range(commits):
        add(run, step)
        run.commit(b"state")
    add(run, commits)
    with monkeypatch.context() as broken:
        broken.setattr(Commit, "text", publish_nothing)
        with pytest.raises(OSError, match="No space"):
            run.commit(b"state")
    kill(run)

    second = begun(tmp_path)
    add(second, commits, commits + 1)
    second.finish()
    second.__exit__()
    assert steps_of(tmp_path) == list(range(commits + 2))


def test_a_resumed_run_gets_the_last_checkpoint_and_the_facts_of_its_first_life(
    tmp_path: Path,
) -> None:
    run = Run(tmp_path, [LOSSES])
    with run:
        assert run.resume() is None
        run.begin("seed: 0\n", {}, card(threads=1))
        run.commit(b"first")
        run.commit(b"second")
    assert [path.suffix for path in run.committed.iterdir()].count(".checkpoint") == 1
    with Run(tmp_path, [LOSSES]) as again:
        assert again.resume() == b"second"
        again.begin("seed: 0\n", {}, card(threads=2))
        assert again.facts == {"threads": 1}
        again.commit(b"third")
    with Run(tmp_path, [LOSSES]) as last:
        assert last.resume() == b"third"
        assert last.facts == {"threads": 1}


def test_a_checkpoint_that_cannot_be_removed_costs_no_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Path, **options: object) -> None:
        if path.name.endswith("checkpoint"):
            raise OSError(errno.EIO, "Input/output error")
        unlink(path, **options)

    unlink: Any = Path.unlink
    run = begun(tmp_path)
    add(run, 0)
    run.commit(b"first")
    add(run, 1)
    with monkeypatch.context() as broken:
        broken.setattr(Path, "unlink", refused)
        with pytest.raises(UserError, match=r"^cannot remove .*checkpoint: Input/output error$"):
            run.commit(b"second")
    # The commit stands, and so does the checkpoint it replaced, until the next life tidies up.
    assert run.commits == 2 and len(list(run.committed.glob("*checkpoint"))) == 2
    run.__exit__()
    with Run(tmp_path, [LOSSES]) as later:
        with monkeypatch.context() as broken:
            broken.setattr(Path, "unlink", refused)
            with pytest.raises(UserError, match=r"^cannot remove"):
                later.resume()
        assert later.resume() == b"second"
        assert len(list(later.committed.glob("*checkpoint"))) == 1
        later.finish()
    assert steps_of(tmp_path) == [0, 1]


def test_rows_so_far_are_those_of_all_commits_and_none_that_wait(tmp_path: Path) -> None:
    run = begun(tmp_path)
    for steps in ((0, 1), (2,), (3, 4)):
        add(run, *steps)
        run.commit(b"state")
    add(run, 5)
    assert run.so_far()["rows"] == {"losses": 5}


def test_tables_do_not_depend_on_where_the_parts_were_cut(tmp_path: Path) -> None:
    for name, cuts in (("whole", []), ("cut", [1, 4, 5])):
        run = begun(tmp_path / name)
        for step in range(8):
            add(run, step)
            if step in cuts:
                run.commit(b"state")
        run.finish()
    files = [(tmp_path / name / "losses.parquet").read_bytes() for name in ("whole", "cut")]
    assert files[0] == files[1]


def test_only_the_tables_that_are_asked_for_are_loaded(tmp_path: Path) -> None:
    other = Table("others", "one row a step", {"step": int64("x")})
    with Run(tmp_path, [LOSSES, other]) as run:
        run.resume()
        run.begin("seed: 0\n", {})
        run.finish()
    assert results.load(tmp_path).keys() == {"losses", "others"}
    assert results.load(tmp_path, tables=["losses"]).keys() == {"losses"}


DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "torn": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "garbage": lambda path: path.write_bytes(b"\x00\xff" * 40),
    "a list": lambda path: path.write_bytes(b"[]"),
    "a flipped byte": lambda path: path.write_bytes(flipped(path.read_bytes())),
    "missing": lambda path: path.unlink(),
}


def flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize(
    "file", ["00000001.0001.losses.parquet", "00000002.0001.checkpoint", "00000001.0001.json"]
)
def test_a_damaged_commit_is_refused_with_the_way_out(
    tmp_path: Path, file: str, damage: str
) -> None:
    run = begun(tmp_path)
    for step in range(2):
        add(run, step)
        run.commit(b"state" * 10)
    run.__exit__()
    DAMAGES[damage](run.committed / file)
    with Run(tmp_path, [LOSSES]) as again:
        with pytest.raises(DamagedRunError, match=rf"{file} is .*--rerun") as refused:
            again.resume()
        assert "\n" not in str(refused.value)
        again.clear()
        assert again.resume() is None


def test_a_part_that_is_lost_after_the_run_was_resumed_stops_its_end(tmp_path: Path) -> None:
    run = begun(tmp_path)
    add(run, 0)
    run.commit(b"state")
    (run.committed / "00000001.0001.losses.parquet").unlink()
    with pytest.raises(DamagedRunError, match="missing"):
        run.finish()
    assert read_status(tmp_path) is not None
    assert list(results.finished(tmp_path)) == []


def test_files_of_strangers_are_no_results(tmp_path: Path) -> None:
    run = begun(tmp_path)
    add(run, 0)
    run.commit(b"state")
    (run.committed / "foo.parquet").write_bytes(b"not ours")
    (run.committed / "foo.json").write_text("{}")
    run.__exit__()
    run = begun(tmp_path)
    add(run, 1)
    run.finish()
    (tmp_path / "foo.parquet").write_bytes(b"not ours")
    assert sorted(results.load(tmp_path)) == ["losses"]
    assert steps_of(tmp_path) == [0, 1]


def test_a_rerun_holds_nothing_of_earlier_lives(tmp_path: Path) -> None:
    older = Table("older", "a table that is no longer written", {"step": int64("x")})
    with Run(tmp_path, [LOSSES, older]) as run:
        run.begin("seed: 0\n", {})
        run.stage("weights.pt", b"weights")
        run.stage("samples.png", b"a grid of samples")
        run.write_text("traceback.txt", "an error that was mended")
        run.finish()
    with Run(tmp_path, [LOSSES]) as run:
        run.clear()
        assert read_status(tmp_path) is None
        assert not list(tmp_path.glob("*.parquet"))
        run.resume()
        run.begin("seed: 0\n", {})
        (tmp_path / "older.parquet").write_bytes(b"of a clear that was killed halfway")
        run.finish()
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["config.yaml", "losses.parquet", "provenance.json", "status.json"]


def test_a_rerun_that_dies_while_it_clears_leaves_a_whole_chain_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = begun(tmp_path)
    add(run, 0)
    run.commit(b"state")
    run.__exit__()
    for count in range(12):
        folder = tmp_path.with_name(f"{tmp_path.name}-{count}")
        shutil.copytree(tmp_path, folder)
        rerun = Run(folder, [LOSSES])
        rerun.__enter__()
        with monkeypatch.context() as mortal:
            dies_after(count, mortal)
            with contextlib.suppress(KeyboardInterrupt):
                rerun.clear()
        kill(rerun)
        again = begun(folder)
        add(again, *([0, 1] if not again._chain else [1]))
        again.finish()
        assert steps_of(folder) == [0, 1]


def dies_after(count: int, patch: pytest.MonkeyPatch) -> None:
    """KeyboardInterrupt instead of the unlink, rename or rmdir number `count` from now on."""
    left = iter(range(count))

    def mortal(function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **options: Any) -> Any:
            if next(left, None) is None:
                raise KeyboardInterrupt
            return function(*arguments, **options)

        return wrapped

    for name in ("unlink", "rename", "rmdir"):
        patch.setattr(os, name, mortal(getattr(os, name)))


def test_a_life_that_lost_its_run_can_publish_nothing(tmp_path: Path) -> None:
    """Stopped for long and taken over by another machine, it wakes up between check and rename."""
    sleeper = begun(tmp_path)
    add(sleeper, 0)
    sleeper.commit(b"state")
    add(sleeper, 1)
    as_if_elsewhere(tmp_path / "lock")

    heir = begun(tmp_path)
    with pytest.raises(RunLostError, match="taken over"):
        sleeper.commit(b"state")
    with pytest.raises(RunLostError, match="taken over"):
        sleeper.finish()
    with pytest.raises(RunLostError, match="taken over"):
        sleeper.write_status("interrupted")
    sleeper.__exit__()

    assert (tmp_path / "lock").exists()
    add(heir, 1, 2)
    heir.commit(b"state")
    add(heir, 3)
    heir.finish()
    heir.__exit__()
    assert steps_of(tmp_path) == [0, 1, 2, 3]


def test_a_life_that_wakes_within_a_write_can_publish_nothing(tmp_path: Path) -> None:
    sleeper = begun(tmp_path)
    target = tmp_path / "status.json"
    before = target.read_bytes()
    with (
        pytest.raises(RunLostError),
        sleeper._drafts.publishing(target) as draft,
    ):
        draft.write_text("written before it fell asleep")
        as_if_elsewhere(tmp_path / "lock")
        heir = begun(tmp_path)
    assert json.loads(target.read_bytes())["state"] == "running"
    assert target.read_bytes() != b"written before it fell asleep"
    assert before
    heir.__exit__()


def test_a_life_that_lost_its_run_stays_shut_out_whoever_came_in_between(tmp_path: Path) -> None:
    """Neither it nor the next one committed, so the heir's number is its own once more."""
    sleeper = begun(tmp_path)
    add(sleeper, 0)
    as_if_elsewhere(tmp_path / "lock")
    begun(tmp_path).__exit__()
    heir = begun(tmp_path)
    with pytest.raises(RunLostError):
        sleeper.commit(b"state")
    (tmp_path / "status.json").unlink()  # as when the heir begins anew
    sleeper.__exit__()
    add(heir, 0)
    heir.finish()
    heir.__exit__()
    assert steps_of(tmp_path) == [0]


def as_if_elsewhere(lock: Path) -> None:
    """The lock of a process on another machine that fell silent long ago."""
    lock.unlink()
    lock.write_text(json.dumps({"host": "another", "kernel": "another", "pid": 1}))
    os.utime(lock, (0, 0))


def test_of_two_commits_with_one_number_that_of_the_later_life_counts(tmp_path: Path) -> None:
    """Should a file system let a dead life publish after all, its successor's chain stands."""
    run = begun(tmp_path)
    add(run, 0)
    run.commit(b"state")
    kill(run)
    heir = begun(tmp_path)
    add(heir, 1)
    heir.commit(b"state of the heir")
    late = Commit(2, 1, 1, StoredFile.of_bytes(b"late", "00000002.0001.checkpoint"))
    (run.committed / late.name).write_bytes(late.text())
    (run.committed / late.checkpoint.name).write_bytes(b"late")
    kill(heir)
    with Run(tmp_path, [LOSSES]) as last:
        assert last.resume() == b"state of the heir"
        assert not (run.committed / late.name).exists()


def test_a_finish_that_dies_while_it_tidies_up_leaves_no_part_of_a_chain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a rerun that dies just after the status is gone would find half a chain."""
    for count in range(8):
        folder = tmp_path / str(count)
        run = begun(folder)
        add(run, 0)
        run.commit(b"state")
        with monkeypatch.context() as mortal, contextlib.suppress(KeyboardInterrupt):
            run.write_status("finished")
            dies_after(count, mortal)
            forget_work(folder)
        kill(run)
        (folder / "status.json").unlink()
        again = begun(folder)
        add(again, *([0, 1] if not again._chain else [1]))
        again.finish()
        assert steps_of(folder) == [0, 1]


def test_a_run_that_never_began_leaves_no_folder(tmp_path: Path) -> None:
    with Run(tmp_path / "exp" / "run", [LOSSES]) as run:
        run.resume()
    assert not (tmp_path / "exp" / "run").exists()


def test_rows_of_a_table_that_nobody_declared_are_refused_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^table lost: is not declared; declared are losses$"):
        Run(tmp_path / "run", [LOSSES]).add("lost", {"step": [0]})


def test_what_a_kill_leaves_is_gone_after_the_next_life(tmp_path: Path) -> None:
    (tmp_path / ".checkpoint.pt.77.tmp").write_bytes(b"half")
    (tmp_path / "traceback.txt").write_text("of a failure that was mended")
    run = begun(tmp_path)
    (run._drafts.folder / "half a table").write_bytes(b"half")
    kill(run)
    run = begun(tmp_path)
    run.finish()
    run.__exit__()
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["config.yaml", "losses.parquet", "provenance.json", "status.json"]


def test_a_sweep_is_read_as_one_table_with_its_varied_keys(tmp_path: Path) -> None:
    for seed in (1, 2):
        run = begun(tmp_path / "exp" / f"run{seed}", seed)
        run.add("losses", {"step": [0, 1], "loss": [1.0, 0.5]})
        run.finish()
    unfinished = begun(tmp_path / "exp" / "run3", 3)
    unfinished.add("losses", {"step": [0], "loss": [1.0]})
    unfinished.commit(b"state")

    frame = results.load(tmp_path / "exp")["losses"]
    assert sorted(frame.columns) == ["loss", "model.width", "run", "seed", "step"]
    assert frame.groupby("run")["model.width"].first().to_dict() == {"run1": 10, "run2": 20}


def test_a_folder_or_a_table_that_is_not_there_is_refused(tmp_path: Path) -> None:
    run = begun(tmp_path / "run")
    add(run, 0)
    run.finish()
    with pytest.raises(UserError, match="nowhere: no such folder"):
        results.load([tmp_path, tmp_path / "nowhere"])
    with pytest.raises(UserError, match=r"no table evals in .*; they have losses"):
        results.load(tmp_path, ["losses", "evals"])
    assert [*results.load(tmp_path, ["losses"])] == ["losses"]


def test_results_of_another_schema_are_left_out_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = begun(tmp_path)
    run.finish()
    status = read_status(tmp_path)
    assert status is not None
    (tmp_path / "status.json").write_text(status_text(status | {"schema": 999}))
    assert results.load(tmp_path) == {}
    assert "was written with schema 999" in capsys.readouterr().err


def test_two_roots_that_hold_one_run_give_it_once(tmp_path: Path) -> None:
    for root in ("here", "there"):
        run = begun(tmp_path / root / "exp" / "run")
        add(run, 0, 1)
        run.finish()
        run.__exit__()
    assert steps_of(tmp_path / "here") == [0, 1]
    both = results.load([tmp_path / "here", tmp_path / "there"])
    assert both["losses"]["step"].tolist() == [0, 1]


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("file", ["status.json", "config.yaml", "losses.parquet"])
def test_one_damaged_run_does_not_take_the_others_down(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], file: str, damage: str
) -> None:
    for name in ("good", "bad"):
        run = begun(tmp_path / "exp" / name)
        add(run, 0, 1)
        run.finish()
        run.__exit__()
    bad = tmp_path / "exp" / "bad" / file
    DAMAGES[damage](bad)
    if (damage, file) == ("missing", "status.json"):
        assert [run.name for run in results.finished(tmp_path)] == ["good"]
        return
    assert [run.name for run in results.finished(tmp_path)] == ["good"]
    told = capsys.readouterr().err
    assert told.startswith(f"skipped: {bad}")
    assert told.count("\n") == 1


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


def test_provenance_adds_a_life_for_every_resumed_start(tmp_path: Path) -> None:
    run = begun(tmp_path)
    run.note({"seconds": 1})
    run.commit(b"state")
    run.__exit__()
    begun(tmp_path)
    lives = json.loads((tmp_path / "provenance.json").read_text())["lives"]
    assert [life.get("seconds") for life in lives] == [1, None]


def test_an_empty_table_keeps_its_types(tmp_path: Path) -> None:
    begun(tmp_path).finish()
    assert pd.read_parquet(tmp_path / "losses.parquet").dtypes.tolist() == ["int64", "float64"]


@pytest.mark.parametrize("committed", [True, False])
def test_a_file_that_was_kept_counts_from_its_commit_on(tmp_path: Path, committed: bool) -> None:
    run = begun(tmp_path)
    run.commit(b"first")
    run.keep("weights.5.pt", b"five")
    if committed:
        run.commit(b"second")
    kill(run)

    second = begun(tmp_path)
    if committed:
        assert second.read_kept("weights.5.pt") == b"five"
        with pytest.raises(ValueError, match="kept already"):
            second.keep("weights.5.pt", b"other")
    else:
        second.keep("weights.5.pt", b"five, again")
    second.finish()
    second.__exit__()
    expected = b"five" if committed else b"five, again"
    assert (tmp_path / "weights.5.pt").read_bytes() == expected
    listed = (read_status(tmp_path) or {})["files"]["weights.5.pt"]
    assert listed["bytes"] == len(expected)


def test_a_kept_file_that_is_damaged_is_refused(tmp_path: Path) -> None:
    run = begun(tmp_path)
    run.keep("weights.5.pt", b"five")
    run.commit(b"state")
    kill(run)
    (file,) = run.committed.glob("*.weights.5.pt")
    file.write_bytes(b"sixx")
    with pytest.raises(DamagedRunError, match="is damaged"):
        begun(tmp_path)
