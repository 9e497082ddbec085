"""Figures 1 and 10 from a real, tiny run, as a user draws them; what holds of all scripts."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import SCRIPTS, TINY_DISK, Ntkexp, Script
from tests.tiny_runs import train

STEM = "fig01_disk_eigenfunctions"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one run, which the tests only read."""
    top = tmp_path_factory.mktemp("disk")
    train(top / "outputs", *TINY_DISK, "probe.eigenfunctions.count=20")
    return top


def test_the_same_run_gives_the_same_bytes_in_another_process(
    runs: Path, tmp_path: Path, script: Script
) -> None:
    words = ["--runs", str(runs / "outputs"), "--out"]
    assert script(STEM)([*words, str(tmp_path / "first")]) == 0
    command = [sys.executable, "-W", "error", str(SCRIPTS / "alignment" / f"{STEM}.py")]
    subprocess.run([*command, *words, str(tmp_path / "second")], check=True, capture_output=True)
    first, second = (
        {file.name: file.read_bytes() for file in (tmp_path / out).iterdir()}
        for out in ("first", "second")
    )
    assert sorted(first) == [f"{STEM}.{kind}" for kind in ("pdf", "png", "svg")]
    assert first == second


def test_a_run_that_kept_few_eigenfunctions_is_drawn_with_those(
    tmp_path: Path, script: Script
) -> None:
    train(tmp_path / "runs", *TINY_DISK, "optim.steps=2", "probe.eigenfunctions.count=4")
    words = ["--runs", str(tmp_path / "runs"), "--out", str(tmp_path / "few")]
    assert script(STEM)(words) == 0
    assert len(list((tmp_path / "few").iterdir())) == 3


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


def figures(inside: Ntkexp, *words: str) -> str:
    done = inside("figures", "alignment", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_all_figures_are_drawn_at_once_and_the_missing_ones_name_their_commands(
    runs: Path, tmp_path: Path, inside: Ntkexp
) -> None:
    shutil.copytree(runs / "outputs", tmp_path / "outputs")
    told = figures(inside, "1", "10", "2")
    assert "2 drawn, 1 without runs, 0 failed" in told
    assert "ntkexp train +exp=vgg19_clean" in told
    assert (tmp_path / "outputs" / "figures" / "fig10_disk_data.pdf").is_file()


def test_a_figure_is_drawn_anew_only_if_its_runs_or_its_files_have_changed(
    runs: Path, tmp_path: Path, inside: Ntkexp
) -> None:
    shutil.copytree(runs / "outputs", tmp_path / "outputs")
    (run,) = tmp_path.glob("outputs/disk/*")
    figure = tmp_path / "outputs" / "figures" / "fig10_disk_data.svg"
    assert "1 drawn" in figures(inside, "--changed", "10")
    assert "every figure is as its runs are" in figures(inside, "--changed", "10")
    figure.write_text("another")
    assert "1 drawn" in figures(inside, "--changed", "10")
    assert figure.read_text() != "another"
    (run / "evals.parquet").touch()
    assert "1 drawn" in figures(inside, "--changed", "10")
