"""Figures 1 and 10 from a real, tiny run, as a user draws them; what holds of all scripts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import SCRIPTS, TINY_DISK
from tests.tiny_runs import train

STEMS = ["fig01_disk_eigenfunctions", "fig10_disk_data"]


def drawn(stem: str, folder: Path, out: str, *flags: str) -> dict[str, bytes]:
    done = subprocess.run(
        [
            sys.executable,
            *flags,
            SCRIPTS / "alignment" / f"{stem}.py",
            "--runs",
            "runs",
            "--out",
            out,
        ],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return {path.name: path.read_bytes() for path in (folder / out).iterdir()}


@pytest.mark.parametrize("stem", STEMS)
def test_the_same_run_gives_the_same_bytes_in_another_process(tmp_path: Path, stem: str) -> None:
    train(tmp_path / "runs", *TINY_DISK, "probe.eigenfunctions.count=20")
    first = drawn(stem, tmp_path, "first", "-W", "error")
    assert sorted(first) == [f"{stem}.{kind}" for kind in ("pdf", "png", "svg")]
    assert first == drawn(stem, tmp_path, "second")


def test_a_run_that_kept_few_eigenfunctions_is_drawn_with_those(tmp_path: Path) -> None:
    train(tmp_path / "runs", *TINY_DISK, "optim.steps=2", "probe.eigenfunctions.count=4")
    assert len(drawn(STEMS[0], tmp_path, "few")) == 3


@pytest.mark.parametrize("stem", STEMS)
def test_without_runs_it_says_which_command_makes_them(tmp_path: Path, stem: str) -> None:
    done = subprocess.run(
        [sys.executable, SCRIPTS / "alignment" / f"{stem}.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 3
    assert "ntkexp train +exp=disk" in done.stderr


def test_figures_need_no_torch() -> None:
    source = (
        "import runpy, sys\n"
        "for path in sys.argv[1:]:\n    runpy.run_path(path)\n"
        "assert 'torch' not in sys.modules\n"
    )
    scripts = sorted(SCRIPTS.glob("*/fig*.py"))
    assert len(scripts) >= 14
    done = subprocess.run(
        [sys.executable, "-c", source, *scripts],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def figures(folder: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "ntkexp", "figures", "alignment", *words],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_all_figures_are_drawn_at_once_and_the_missing_ones_name_their_commands(
    tmp_path: Path,
) -> None:
    train(tmp_path / "outputs", *TINY_DISK, "probe.eigenfunctions.count=20")
    told = figures(tmp_path, "1", "10", "2")
    assert "2 drawn, 1 without runs, 0 failed" in told
    assert "ntkexp train +exp=vgg19_clean" in told
    assert (tmp_path / "outputs" / "figures" / "fig10_disk_data.pdf").is_file()


def test_a_figure_is_drawn_anew_only_if_its_runs_or_its_files_have_changed(tmp_path: Path) -> None:
    run = train(tmp_path / "outputs", *TINY_DISK, "probe.eigenfunctions.count=20")
    figure = tmp_path / "outputs" / "figures" / "fig10_disk_data.svg"
    assert "1 drawn" in figures(tmp_path, "--changed", "10")
    assert "every figure is as its runs are" in figures(tmp_path, "--changed", "10")
    figure.write_text("another")
    assert "1 drawn" in figures(tmp_path, "--changed", "10")
    assert figure.read_text() != "another"
    (run / "evals.parquet").touch()
    assert "1 drawn" in figures(tmp_path, "--changed", "10")
