"""A folder of runs from somebody else: whatever lies in it, nothing outside of it is touched."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ntkexp.cli import main
from ntkexp.results.commits import Commit, StoredFile
from ntkexp.results.status import status_text
from tests.conftest import TINY_DISK, Ntkexp

WORDS = (
    "train", *TINY_DISK, "logger=[tests.loggers.made_csv.Csv]", "checkpoint.every_seconds=0",
    "optim.steps=3",
)  # fmt: skip


def in_place_of(name: str, target: str) -> Callable[[Path, Path], None]:
    """Puts a link to a treasure in place of what a run has."""

    def link(run: Path, treasures: Path) -> None:
        path = run / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
        path.symlink_to(treasures / target)

    return link


def commit_that_names(name: str) -> Callable[[Path, Path], None]:
    """Puts a commit there whose checkpoint is a file outside."""

    def write(run: Path, treasures: Path) -> None:
        committed = run / "unfinished" / "committed"
        committed.mkdir(parents=True, exist_ok=True)
        stored = StoredFile.of_bytes((treasures / "thesis.tex").read_bytes(), "thesis.tex")
        object.__setattr__(stored, "name", name.format(treasures=treasures))
        commit = Commit(9, 9, None, stored, files=(stored,), facts={"threads": 1})
        (committed / commit.name).write_bytes(commit.text())

    return write


def status_that_lists(name: str) -> Callable[[Path, Path], None]:
    def write(run: Path, treasures: Path) -> None:
        files = {name.format(treasures=treasures): {"bytes": 1, "sha256": "0"}}
        finished = {"state": "finished", "schema": 1, "time": "", "files": files}
        (run / "status.json").write_text(status_text(finished))

    return write


HOSTILE = {
    "unfinished": in_place_of("unfinished", "unfinished"),
    "committed": in_place_of("unfinished/committed", "."),
    "a commit": in_place_of("unfinished/committed/00000009.0009.json", "thesis.tex"),
    "a life": in_place_of("unfinished/life.0007", "."),
    "a dead life": in_place_of("unfinished/dead.0007", "."),
    "a temporary file": in_place_of(".status.json.7.tmp", "thesis.tex"),
    "a temporary folder": in_place_of(".unfinished.7.tmp", "."),
    "lock": in_place_of("lock", "thesis.tex"),
    "status": in_place_of("status.json", "thesis.tex"),
    "config": in_place_of("config.yaml", "thesis.tex"),
    "provenance": in_place_of("provenance.json", "thesis.tex"),
    "a table": in_place_of("steps.parquet", "thesis.tex"),
    "weights": in_place_of("weights.pt", "thesis.tex"),
    "traceback": in_place_of("traceback.txt", "thesis.tex"),
    "log": in_place_of("log.txt", "thesis.tex"),
    "logs": in_place_of("logs", "."),
    "a logger's folder": in_place_of("logs/csv", "chapters"),
    "a logger's file": in_place_of("logs/csv/evals.csv", "thesis.tex"),
    "a logger's note": in_place_of("logs/csv/commits", "thesis.tex"),
    "a commit that climbs": commit_that_names("../../../../../treasures/thesis.tex"),
    "a commit from the root": commit_that_names("{treasures}/thesis.tex"),
    "a list that climbs": status_that_lists("../../../treasures/thesis.tex"),
    "a list from the root": status_that_lists("{treasures}/thesis.tex"),
}
# Each as another one is: a file or a folder in the place of one of the same kind.
ALIKE = {
    "a dead life", "a temporary folder", "config", "provenance", "weights", "traceback",
    "a logger's file", "a logger's note", "a commit", "a commit from the root",
    "a list that climbs",
}  # fmt: skip


def treasures_in(top: Path) -> dict[str, bytes]:
    return {
        path.relative_to(top).as_posix(): path.read_bytes() if path.is_file() else b""
        for path in top.rglob("*")
    }


def make_treasures(top: Path) -> dict[str, bytes]:
    (top / "chapters").mkdir(parents=True)
    (top / "csv").mkdir()
    (top / "unfinished" / "committed").mkdir(parents=True)
    for name in ("thesis.tex", "chapters/1.tex", "csv/2.csv", "unfinished/committed/3.tex"):
        (top / name).write_text(f"years of work: {name}")
    return treasures_in(top)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    outputs = tmp_path_factory.mktemp("finished") / "outputs"
    assert main([*WORDS, f"paths.outputs={outputs}"]) == 0
    return outputs


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    """A finished run of WORDS in the test's own outputs/."""
    shutil.copytree(finished, tmp_path / "outputs")
    (folder,) = tmp_path.glob("outputs/disk/*")
    return folder


@pytest.mark.parametrize(
    "more",
    [pytest.param((), marks=pytest.mark.on_demand, id="goes on"), pytest.param(("--rerun",))],
)
@pytest.mark.parametrize(
    "hostile",
    [
        pytest.param(name, marks=[pytest.mark.on_demand] if name in ALIKE else [])
        for name in HOSTILE
    ],
)
def test_nothing_outside_is_touched(
    inside: Ntkexp, tmp_path: Path, run: Path, hostile: str, more: tuple[str, ...]
) -> None:
    treasures = tmp_path / "treasures"
    before = make_treasures(treasures)
    if not more:
        (run / "status.json").write_text(status_text({"state": "interrupted", "schema": 1}))
    HOSTILE[hostile](run, treasures)
    inside(*WORDS, *more)
    assert treasures_in(treasures) == before


@pytest.mark.parametrize("name", ["unfinished", "committed", "logs"])
def test_a_link_where_files_are_removed_is_refused_in_one_line(
    inside: Ntkexp, tmp_path: Path, run: Path, name: str
) -> None:
    make_treasures(tmp_path / "treasures")
    HOSTILE[name](run, tmp_path / "treasures")
    refused = inside(*WORDS, "--rerun")
    assert refused.returncode == 2
    (line,) = refused.stderr.splitlines()
    assert f"{name} is a link; expected a folder of this run, or none" in line
    assert (run / "status.json").exists() and not (run / "lock").exists()


def test_a_log_that_is_a_link_is_not_written_to(inside: Ntkexp, tmp_path: Path, run: Path) -> None:
    before = make_treasures(tmp_path / "treasures")
    HOSTILE["log"](run, tmp_path / "treasures")
    refused = inside(*WORDS, "-m", "launcher.jobs=1", "--rerun")
    assert refused.returncode == 1
    assert "log.txt: Too many levels of symbolic links" in refused.stdout
    assert treasures_in(tmp_path / "treasures") == before


def test_outputs_and_the_folder_of_a_run_may_be_links(inside: Ntkexp, tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    (tmp_path / "outputs").symlink_to(tmp_path / "scratch")
    assert inside(*WORDS).stdout.startswith("finished")
    (run,) = tmp_path.glob("outputs/disk/*")
    run.rename(tmp_path / "elsewhere")
    run.symlink_to(tmp_path / "elsewhere")
    assert inside(*WORDS).stdout.startswith("done already")
    assert inside(*WORDS, "--rerun").stdout.startswith("finished")
