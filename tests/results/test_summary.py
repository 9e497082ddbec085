"""Runs are listed, chosen and told apart by their status, without their tables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ntkexp.commands.run_table import table
from ntkexp.results import reading
from ntkexp.results.numbers.standing import progress
from ntkexp.results.record import Record
from ntkexp.results.select import has_collapsed, has_fitted, has_rows
from ntkexp.results.status import STATUS, flat_config, read_status, status_text
from ntkexp.scripts import runs
from tests.tiny_runs import train

WORDS = ("data.grid=6", "data.train_examples=20", "probing.examples=10", "optim.steps=2")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Outputs with three runs of the disk, of other seeds."""
    outputs = tmp_path_factory.mktemp("summary") / "outputs"
    for seed in range(3):
        train(outputs, "+exp=disk", "model.width=16", f"seed={seed}", *WORDS)
    return outputs


def as_an_older_one(folder: Path) -> None:
    """Without what older runs do not say in their status."""
    status = read_status(folder) or {}
    del status["summary"], status["config"]
    (folder / STATUS).write_text(status_text(status))


def said(run: Record) -> tuple[object, ...]:
    return run.config, run.setting, run.iteration, has_fitted(run), has_collapsed(run)


@pytest.fixture
def read_tables(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tables that are read from here on, by the ids of their runs."""
    names: list[str] = []
    read_table = reading.read_table

    def noting(file: reading.TableFile, columns: list[str] | None = None) -> object:
        names.append(f"{file.path.parent.name}/{file.path.stem}")
        return read_table(file, columns)

    monkeypatch.setattr(reading, "read_table", noting)
    return names


def test_runs_are_listed_and_chosen_without_a_table(made: Path, read_tables: list[str]) -> None:
    folders = sorted((made / "disk").iterdir())
    assert all("test accuracy" in progress(folder) for folder in folders)
    assert table(folders)["test_loss"].notna().all()
    found = reading.collect([made])
    assert len(has_rows(found, ["eigenfunctions", "evals"])) == 3
    assert not any(map(has_collapsed, found)) and read_tables == []


def test_a_figure_reads_the_tables_of_the_run_that_it_draws(
    made: Path, read_tables: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(made.parent)
    run, _ = runs.first(
        lambda places: runs.one("disk", places, ["eigenfunctions"]), ["disk"], [], False
    )
    assert len(run.tables["eigenfunctions"]) and run.seed == 0
    assert read_tables == [f"{run.run}/eigenfunctions"]


def test_of_an_older_run_the_tables_say_the_same(made: Path) -> None:
    first = reading.collect([made])[0]
    assert first.folder is not None
    told, row = progress(first.folder), table([first.folder])
    as_an_older_one(first.folder)
    (older,) = [run for run in reading.collect([made]) if run.run == first.run]
    assert older.summary is None and said(older) == said(first)
    assert progress(first.folder) == told
    assert table([first.folder]).equals(row)


def test_the_config_in_a_status_is_that_of_the_file(made: Path) -> None:
    folder = sorted((made / "disk").iterdir())[-1]
    status = read_status(folder) or {}
    assert flat_config(folder, {}) == flat_config(folder, status)
    assert json.loads((folder / STATUS).read_text())["config"]["model.width"] == 16
