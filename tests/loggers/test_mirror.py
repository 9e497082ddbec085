"""Loggers have every number of a run once, however many lives it takes."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

from ntkexp.loggers import About, Logger, Series, Tables
from ntkexp.loggers.mirror import Mirror, scalar_tables, series_of
from ntkexp.results import Run
from ntkexp.results.table import STEP, Table, float64, int64, string
from tests.conftest import TINY_DISK, Ntkexp, Start
from tests.loggers.made_csv import Csv, CsvSink

CSV = "tests.loggers.made_csv.Csv"
EVALS = Table("evals", "", {"step": STEP, "split": string(""), "loss": float64("")})
SPECTRUM = Table("spectrum", "", {"step": STEP, "rank": int64(""), "eigenvalue": float64("")})


def evals(*steps: int) -> dict[str, Any]:
    both = [step for step in steps for _ in range(2)]
    return {"step": both, "split": ["train", "test"] * len(steps), "loss": np.sqrt(both)}


def csv_of(folder: Path, name: str = "evals") -> pd.DataFrame:
    return pd.read_csv(folder / "logs" / "csv" / f"{name}.csv")


def mirror(run: Run, **loggers: Logger) -> Mirror:
    return Mirror(loggers or {"csv": Csv()}, run, "disk", {"seed": 0})


# What is scalar


def test_what_is_scalar_has_one_row_a_step_and_choice_of_words() -> None:
    tables = {
        "evals": EVALS.frame(evals(0, 5)),
        "spectrum": SPECTRUM.frame({"step": [0, 0], "rank": [1, 2], "eigenvalue": [2.0, 1.0]}),
        "sums": pd.DataFrame({"n": [1, 2], "sum": [1.0, 1.5]}),
    }
    found = scalar_tables(tables)
    assert set(found) == {"evals"}
    told = {one.name: (one.steps.tolist(), one.values["loss"].tolist()) for one in series_of(found)}
    assert told == {
        "evals/train": ([0, 5], [0.0, 5**0.5]),
        "evals/test": ([0, 5], [0.0, 5**0.5]),
    }


def test_networks_of_one_run_are_told_apart() -> None:
    frame = pd.DataFrame({"seed": [0, 1], "step": [3, 3], "loss": [0.1, 0.2]})
    assert scalar_tables({"steps": frame}) == {}
    found = series_of(scalar_tables({"steps": frame}, ["seed"]), ["seed"])
    assert [one.name for one in found] == ["steps/seed=0", "steps/seed=1"]


def test_what_is_thinned_keeps_its_last_step() -> None:
    series = Series("a", np.arange(1000), {"loss": np.arange(1000.0)})
    few = series.thinned(10)
    assert len(few.steps) == 10
    assert few.steps[-1] == 999
    assert few.steps.tolist() == few.values["loss"].tolist()
    assert series.thinned(1000) is series


# Lives


class Killed(BaseException):
    """Ends a life where nothing can catch it."""


def test_each_commit_is_told_once_and_the_end_of_a_life_that_was_cut_off_later(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "run"
    with Run(folder, [EVALS]) as run, mirror(run) as told:
        run.add("evals", evals(0, 1))
        run.commit(b"1")
        told.catch_up()
        assert csv_of(folder)["step"].tolist() == [0, 0, 1, 1]
        run.add("evals", evals(2))
        run.commit(b"2")  # and the life ends here, before its loggers hear of it
    with Run(folder, [EVALS]) as run:
        run.resume()
        with mirror(run) as told:
            assert csv_of(folder)["step"].tolist() == [0, 0, 1, 1, 2, 2]
            told.catch_up()
    pd.testing.assert_frame_equal(csv_of(folder), EVALS.frame(evals(0, 1, 2)), check_dtype=False)


@dataclass
class Server(Logger):
    """Keeps what it was told where a life of the run that ends does not undo it."""

    begins_anew: ClassVar[bool] = False

    def open(self, about: About) -> ServerSink:
        (about.folder / "told").touch()
        return ServerSink(about.folder / "told")


@dataclass
class ServerSink:
    file: Path

    def write(self, tables: Tables, series: Sequence[Series]) -> None:
        with self.file.open("a") as file:
            file.writelines(f"{step}\n" for step in tables["evals"]["step"].unique())

    def close(self, finished: bool) -> None:
        pass


def test_a_kill_within_a_commit_repeats_it_at_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"

    def life(*steps: int, killed_in: type | None = None) -> None:
        with Run(folder, [EVALS]) as run:
            run.resume()
            with mirror(run, csv=Csv(), server=Server()) as told, monkeypatch.context() as patch:
                if killed_in is not None:
                    patch.setattr(killed_in, "write", dying(killed_in))
                run.add("evals", evals(*steps))
                run.commit(b"")
                told.catch_up()

    def dying(sink: Any) -> Any:
        whole = sink.write

        def write(self: Any, tables: Tables, series: Sequence[Series]) -> None:
            whole(self, tables, series)
            raise Killed

        return write

    life(0, 1)
    with pytest.raises(Killed):
        life(2, killed_in=CsvSink)
    with pytest.raises(Killed):
        life(3, killed_in=ServerSink)
    life(4)
    assert csv_of(folder)["step"].tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    told = (folder / "logs" / "server" / "told").read_text().split()
    assert told == ["0", "1", "2", "3", "3", "4"]


def test_a_run_killed_again_and_again_is_mirrored_row_by_row(start: Start, tmp_path: Path) -> None:
    words = [
        "train", *TINY_DISK, "optim.steps=400", f"logger=[{CSV},tensorboard]",
        "checkpoint.every_seconds=0",
    ]  # fmt: skip

    def commits() -> int:
        return len(list(tmp_path.glob("outputs/disk/*/unfinished/committed/*.json")))

    for _ in range(2):
        before, life = commits(), start(*words)
        while life.poll() is None and commits() <= before + 1:
            time.sleep(0.005)
        life.kill()
        life.wait()
    done = start(*words).done()
    assert done.returncode == 0, done.stderr
    (folder,) = tmp_path.glob("outputs/disk/*")
    lives = json.loads((folder / "provenance.json").read_text())["lives"]
    assert len(lives) == 3
    for name in ("steps", "evals"):
        table = pd.read_parquet(folder / f"{name}.parquet")
        pd.testing.assert_frame_equal(csv_of(folder, name), table, check_dtype=False)
    assert not (folder / "logs" / "csv" / "eigenfunctions.csv").exists()
    assert len(list((folder / "logs" / "tensorboard").iterdir())) <= 3


def test_a_rerun_begins_its_logs_anew(inside: Ntkexp, tmp_path: Path) -> None:
    words = ("train", *TINY_DISK, f"logger=[{CSV}]")
    for more in ((), ("--rerun",)):
        assert inside(*words, *more).returncode == 0
        (folder,) = tmp_path.glob("outputs/disk/*")
        assert len(csv_of(folder, "steps")) == 30
    assert inside("train", *TINY_DISK, "--rerun").returncode == 0
    assert not (folder / "logs").exists()


def test_a_run_that_diverges_tells_all_that_it_has(inside: Ntkexp, tmp_path: Path) -> None:
    assert inside("train", *TINY_DISK, "optim.lr=1e30", f"logger=[{CSV}]").returncode == 1
    (folder,) = tmp_path.glob("outputs/disk/*")
    for name in ("steps", "evals"):
        table = pd.read_parquet(folder / f"{name}.parquet")
        assert len(table)
        pd.testing.assert_frame_equal(csv_of(folder, name), table, check_dtype=False)


# What it is to a run


def test_loggers_are_no_part_of_a_run(inside: Ntkexp, tmp_path: Path) -> None:
    assert inside("train", *TINY_DISK).returncode == 0
    assert not list(tmp_path.glob("outputs/disk/*/logs"))
    assert inside("train", *TINY_DISK, f"logger=[{CSV}]").stdout.startswith("done already")


@dataclass
class Failing(Logger):
    def open(self, about: About) -> FailingSink:
        return FailingSink()


class FailingSink:
    def write(self, tables: Tables, series: Sequence[Series]) -> None:
        raise ConnectionError("nobody listens")

    def close(self, finished: bool) -> None:
        raise AssertionError("it is left out by now")


def test_a_logger_that_fails_does_not_end_a_run(inside: Ntkexp, tmp_path: Path) -> None:
    name = f"{__name__}.Failing"
    done = inside("train", *TINY_DISK, f"logger=[{name},{CSV}]")
    assert done.returncode == 0, done.stderr
    assert done.stderr == (
        "logger failing: ConnectionError: nobody listens; the run goes on without it\n"
    )
    (folder,) = tmp_path.glob("outputs/disk/*")
    assert len(csv_of(folder, "steps")) == 30


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["logger=[wandbb]"], "logger=wandbb: no such option; did you mean wandb?"),
        (
            ["logger.wandb.points=3"],
            "logger.wandb.points: logger wandb is not chosen; expected 'logger=[wandb]'",
        ),
        (["logger=[wandb]"], "logger=wandb: needs pip install 'ntkexp[wandb]'"),
    ],
)
def test_what_cannot_be_is_refused(
    inside: Ntkexp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: Sequence[str], told: str
) -> None:
    monkeypatch.setattr("ntkexp.loggers.base.find_spec", lambda name: None)
    done = inside("train", *TINY_DISK, *words)
    assert done.returncode == 2
    assert done.stderr.startswith(f"ntkexp: {told}")
    assert not (tmp_path / "outputs").exists()
