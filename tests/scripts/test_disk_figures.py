"""Figures 1 and 10 from a real, tiny run, as a user draws them; what holds of all scripts."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from ntkexp.scripts.alignment import fig01_disk_eigenfunctions
from ntkexp.scripts.lazy import fig51_yin_yang
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


def test_a_pixel_lies_on_its_point_of_the_square() -> None:
    """Points at -1, 0 and 1: each is in the middle of its pixel."""
    axes = Figure().subplots(1, 2)
    points = pd.DataFrame([(x, y) for y in (-1, 0, 1) for x in (-1, 0, 1)], columns=["x", "y"])
    fig01_disk_eigenfunctions._image(axes[0], np.eye(3))
    fig51_yin_yang._map(axes[1], points.assign(difference=1.0, level=0.5, runs=1), 1.0, 1)
    for panel in axes:
        left, right, low, high = panel.images[0].get_extent()
        assert np.linspace(left, right, 7)[1::2] == pytest.approx([-1, 0, 1])
        assert (low, high) == (left, right)


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
