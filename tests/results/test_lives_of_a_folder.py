"""What the lives of a run do to its folder, one step at a time: drafts, lock, chain, old files."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from ntkexp.errors import RunTakenError, UserError
from ntkexp.results.commits import Drafts, kept_facts
from ntkexp.results.files import refuse_unwritable, replacing
from ntkexp.results.lock import is_locked
from ntkexp.results.status import lasting_facts, read_status
from ntkexp.results.store import Run
from ntkexp.results.table import Table, float64, int64

LOSSES = Table("losses", "one row a step", {"step": int64("x"), "loss": float64("x")})


def life(folder: Path, **facts: object) -> Run:
    """A life of a run that has begun; the facts count if it is the first."""
    run = Run(folder, [LOSSES])
    run.__enter__()
    run.resume()
    run.facts = {**facts, **run.facts}
    run.begin("seed: 0\n", {})
    return run


def commit(run: Run, *steps: int) -> None:
    run.add("losses", {"step": list(steps), "loss": [0.5] * len(steps)})
    run.commit(b"state")


def in_folder(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def by_replacing(folder: Path) -> None:
    with replacing(folder / "numbers") as draft:
        draft.write_bytes(b"content")


def by_a_life(folder: Path) -> None:
    drafts = Drafts(folder / "work")
    drafts.open()
    drafts.write(folder / "numbers", b"content")


@pytest.mark.skipif(sys.platform != "linux", reason="names of open files are read from /proc")
@pytest.mark.parametrize("write", [by_replacing, by_a_life])
def test_a_file_is_on_disk_before_it_has_its_name_and_the_name_before_anything_else(
    write: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def watched(what: str, function: Any) -> Any:
        def call(first: Any, *others: Any) -> Any:
            path = Path(f"/proc/self/fd/{first}").readlink() if what == "sync" else others[0]
            done.append(f"{what} {Path(path).name}")
            return function(first, *others)

        return call

    monkeypatch.setattr(os, "fsync", watched("sync", os.fsync))
    monkeypatch.setattr(os, "replace", watched("name", os.replace))
    write(tmp_path)
    named = done.index("name numbers")
    assert done[named - 1].startswith("sync ") and "numbers" in done[named - 1]
    assert done[named + 1] == f"sync {tmp_path.name}"
    assert (tmp_path / "numbers").read_bytes() == b"content"


def test_where_there_are_no_hard_links_a_file_is_published_as_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_here(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", none_here)
    drafts = Drafts(tmp_path / "work")
    drafts.open()
    (tmp_path / "committed").write_bytes(b"content")
    drafts.link(tmp_path / "committed", tmp_path / "published")
    assert (tmp_path / "published").read_bytes() == b"content"
    assert (tmp_path / "committed").read_bytes() == b"content"


def test_a_write_that_fails_leaves_no_draft_to_fill_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = life(tmp_path)

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", full)
        with pytest.raises(UserError, match="No space left"):
            commit(run, 0)
    assert in_folder(run._drafts.folder) == []
    assert in_folder(run.committed) == []


def test_whoever_takes_over_leaves_nothing_of_an_earlier_life(tmp_path: Path) -> None:
    for _ in range(2):
        Drafts(tmp_path / "work").open()
    (left,) = in_folder(tmp_path / "work")
    assert left.startswith("life.0002.")


def test_a_life_that_ends_leaves_its_commits_alone(tmp_path: Path) -> None:
    run = life(tmp_path)
    commit(run, 0)
    run.write_status("interrupted")
    run.__exit__()
    assert in_folder(tmp_path / "unfinished") == ["committed"]
    files = ["00000001.0001.checkpoint", "00000001.0001.json", "00000001.0001.losses.parquet"]
    assert in_folder(run.committed) == files
    assert in_folder(tmp_path) == ["config.yaml", "provenance.json", "status.json", "unfinished"]


def test_what_no_commit_names_is_removed_when_a_run_is_taken_up(tmp_path: Path) -> None:
    run = life(tmp_path)
    commit(run, 0)
    run.__exit__()
    before = in_folder(run.committed)
    (run.committed / "00000002.0001.losses.parquet").write_bytes(b"of a commit that never came")
    (run.committed / "folder").mkdir()
    (run.committed / "folder" / "file").touch()
    life(tmp_path).__exit__()
    assert in_folder(run.committed) == before


def test_a_rerun_frees_the_disk_before_it_begins(tmp_path: Path) -> None:
    run = life(tmp_path)
    commit(run, 0)
    run.__exit__()
    (tmp_path / "logs").mkdir()
    with Run(tmp_path, [LOSSES]) as again:
        again.clear()
        assert in_folder(again._drafts.folder) == in_folder(again.committed) == []
        assert not (tmp_path / "logs").exists() and read_status(tmp_path) is None


def test_a_life_that_cannot_begin_lets_go_of_the_lock(tmp_path: Path) -> None:
    (tmp_path / "unfinished").write_text("in the way")
    with pytest.raises(UserError, match=r"cannot write .*unfinished"):
        Run(tmp_path, [LOSSES]).__enter__()
    assert not is_locked(tmp_path / "lock")
    (tmp_path / "unfinished").unlink()
    with Run(tmp_path, [LOSSES]), pytest.raises(RunTakenError):
        Run(tmp_path, [LOSSES]).__enter__()


def test_commits_stay_though_the_status_is_gone_and_a_life_ends_before_it_begins(
    tmp_path: Path,
) -> None:
    run = life(tmp_path)
    commit(run, 0)
    run.__exit__()
    (tmp_path / "status.json").unlink()
    with Run(tmp_path, [LOSSES]):
        pass
    with Run(tmp_path, [LOSSES]) as again:
        assert again.resume() == b"state"


def test_a_run_whose_provenance_is_gone_goes_on(tmp_path: Path) -> None:
    run = life(tmp_path)
    commit(run, 0)
    run.__exit__()
    (tmp_path / "provenance.json").unlink()
    life(tmp_path).__exit__()
    (only,) = json.loads((tmp_path / "provenance.json").read_text())["lives"]
    assert abs((datetime.now(UTC) - datetime.fromisoformat(only["began"])).total_seconds()) < 60


def test_the_facts_of_a_run_that_goes_on_are_those_of_its_last_commit(tmp_path: Path) -> None:
    folder = tmp_path / "unfinished" / "committed"
    assert kept_facts(folder) == lasting_facts(tmp_path) == {}
    run = life(tmp_path, threads=2)
    commit(run, 0)
    commit(run, 1)
    run.__exit__()
    later = life(tmp_path)
    later.facts = {"threads": 3}
    commit(later, 2)
    later.__exit__()
    assert lasting_facts(tmp_path) == {"threads": 3}
    # Of a dead life with a higher number, were its record published after all.
    late = folder / "00000009.0001.json"
    late.write_bytes((folder / "00000001.0001.json").read_bytes())
    assert lasting_facts(tmp_path) == {"threads": 3}
    (folder / "00000003.0002.json").write_bytes(b"[]")
    assert lasting_facts(tmp_path) == {}


def test_a_table_says_which_it_is_and_of_which_schema(tmp_path: Path) -> None:
    run = life(tmp_path)
    run.finish()
    metadata = pq.read_schema(tmp_path / "losses.parquet").metadata
    assert metadata[b"ntkexp.table"] == b"losses"
    assert metadata[b"ntkexp.schema"] == str((read_status(tmp_path) or {})["schema"]).encode()


def test_a_folder_is_tried_before_the_work_for_it(tmp_path: Path) -> None:
    refuse_unwritable(tmp_path / "a" / "b")
    assert in_folder(tmp_path) == []
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"cannot write .*file/b: Not a directory"):
        refuse_unwritable(tmp_path / "file" / "b")
    refuse_unwritable(tmp_path)
    assert in_folder(tmp_path) == ["file"]
