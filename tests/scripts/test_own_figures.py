"""Figures of the papers, drawn from runs of one's own: `ntkexp figures ... --exp`."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from ntkexp import figures
from ntkexp.commands.figures import Figures
from ntkexp.errors import UserError
from ntkexp.results import Record, read
from ntkexp.scripts.drawing import iteration_axis
from tests.tiny_runs import train

TINY = ("data.train_examples=60", "data.test_examples=30", "probing.examples=8",
        "optim.batch_size=20", "optim.steps=12", "probing.growth=1.5", "model.depth=2",
        "model.width=8", "progress=false", "device=cpu")  # fmt: skip
ONE_LOOK = ("+exp=disk", "name=look", "probe=[spectrum,alignment]", "model.width=8",
            "optim.steps=4", "data.grid=6", "probing.examples=8", "probing.spacing=list",
            "probing.steps=[0,4]", "progress=false")  # fmt: skip


@pytest.fixture(scope="module")
def outputs(module_images: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seeds of an experiment of one's own, clean and with noise; one look at a disk, and at
    two networks in one run."""
    folder = tmp_path_factory.mktemp("own")
    for seed in (0, 1):
        for noise in (0, 0.5):
            train(folder / "outputs", "+exp=mlp_mnist", "name=mine", *TINY,
                  f"seed={seed}", f"data.noise={noise}")  # fmt: skip
    train(folder / "outputs", *ONE_LOOK)
    train(folder / "outputs", *ONE_LOOK, "name=many", "members={seed: [0, 1]}")
    return folder / "outputs"


def records(outputs: Path, name: str) -> list[Record]:
    return [read(folder) for folder in sorted((outputs / name).iterdir())]


def titles(figure: Figure) -> list[str]:
    return [axes.get_title() for axes in figure.axes if axes.get_title()]


def test_runs_that_differ_stand_in_columns_and_seeds_share_one(outputs: Path) -> None:
    drawn = figures.draw("alignment", "2", records(outputs, "mine"))
    assert titles(drawn) == ["mine\nnoise 0", "mine\nnoise 0.5"]
    keys = ["data.noise", "model.width"]
    both = figures.draw("alignment", "2", records(outputs, "mine"), columns=keys)
    assert titles(both) == ["mine\nnoise 0\nwidth 8", "mine\nnoise 0.5\nwidth 8"]
    accuracy = drawn.axes[0]
    steps, mean = accuracy.lines[0].get_data()
    evals = pd.concat(r.tables["evals"] for r in records(outputs, "mine")
                      if r.config["data.noise"] == 0)  # fmt: skip
    train_rows = evals[(evals["split"] == "train") & (evals["subset"] == "all")]
    after_start = train_rows[train_rows["step"] > 0]
    expected = after_start.groupby("step")["accuracy"].mean()
    np.testing.assert_array_equal(steps, expected.index)
    np.testing.assert_allclose(mean, expected)
    assert accuracy.get_xlim()[0] == min(step for step in steps if step > 0)


def test_titles_of_ones_own_are_taken_as_they_are(outputs: Path) -> None:
    clean, noisy = (
        [r for r in records(outputs, "mine") if r.config["data.noise"] == q] for q in (0, 0.5)
    )
    drawn = figures.draw("alignment", "3", {"clean": clean, "half wrong": noisy}, width=3.25)
    assert titles(drawn) == ["clean", "half wrong"]
    assert drawn.get_figwidth() == 3.25


def test_drawing_leaves_matplotlib_as_it_was(outputs: Path, tmp_path: Path) -> None:
    sheet = tmp_path / "mine.mplstyle"
    sheet.write_text("axes.labelsize: 5\n")
    before, backend = dict(mpl.rcParams), mpl.rcParams._get_backend_or_none()
    drawn = figures.draw("alignment", "11", records(outputs, "mine"), style=sheet)
    assert drawn.axes[0].yaxis.label.get_size() == 5
    assert dict(mpl.rcParams) == before
    assert mpl.rcParams._get_backend_or_none() == backend
    assert plt.get_fignums() == []


def test_one_look_is_points(outputs: Path) -> None:
    """At data without an option for noise, too."""
    drawn = figures.draw("alignment", "3", records(outputs, "look"))
    accuracy = drawn.axes[0]
    for line in accuracy.lines[:2]:
        assert line.get_marker() == "o"
        assert line.get_linestyle() == "None"
        assert not line.get_clip_on()
    low, high = accuracy.get_xlim()
    assert low < 4 < high
    figures.draw("alignment", "2", records(outputs, "look"))


def test_the_command_writes_beside_the_papers_figures_with_the_numbers(
    outputs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["alignment", "3", "--exp", "mine", "--csv", "--runs", str(outputs), "--out"]
    assert Figures.parsed([*words, str(tmp_path)]).execute() == 0
    folder = tmp_path / "own" / "mine"
    named = [f"fig03_alignment.{kind}" for kind in ("csv", "pdf", "png", "svg")]
    assert sorted(path.name for path in folder.iterdir()) == named
    assert [path.name for path in tmp_path.iterdir()] == ["own"]
    table = pd.read_csv(folder / "fig03_alignment.csv")
    assert set(table["quantity"]) == {"cka", "accuracy"}
    table = table[table["quantity"] == "cka"]
    assert {*table["column"]} == {"mine, noise 0", "mine, noise 0.5"}
    for record in records(outputs, "mine"):
        kept = record.tables["alignment"]
        kept = kept[(kept["centring"] == "class") & (kept["subset"] == "all")]
        written = table[table["run"] == record.run]
        assert {*written["seed"]} == {record.seed}
        np.testing.assert_allclose(written["value"], kept["cka"])


def test_one_run_is_enough_and_none_are_not(outputs: Path) -> None:
    drawn = figures.draw("alignment", 2, records(outputs, "look")[0])
    assert titles(drawn) == ["look"]
    with pytest.raises(UserError, match="runs: none are given; expected one or more"):
        figures.draw("alignment", "2", [])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["alignment", "1", "--exp", "look"], "no finished run with eigenfunctions, eigenvalues"),
        (["alignment", "8", "--exp", "many"], "many: no finished run with"),
        (["alignment", "1", "--exp", "mine", "--csv"], "fig01_disk_eigenfunctions: has no --col"),
        (["lazy", "5.2", "--exp", "mine"], "fig52_noise is of 6 experiments; expected lazy/"),
        (
            ["alignment", "4", "--exp", "mine"],
            "mine, noise 0: the tables evals, alignment have no rows",
        ),
        (["alignment", "3", "--exp", "many"], "many: [0-9a-f]+ is a run of many networks"),
        (["alignment", "2", "--exp", "mien"], "--exp mien: no finished run in .*ntkexp list"),
        (["alignment", "--exp", "mine"], "of which figures"),
        (["alignment", "2", "--exp", "mine", "--columns", "data.nois"], "mean data.noise"),
        (["alignment", "2", "--exp", "mine", "--columns", "seed"], "differ in data.noise"),
        (["alignment", "2", "--exp", "mine", "--style", "none"], "style none"),
        (["alignment", "2", "--csv"], "are for --exp"),
    ],
)
def test_what_cannot_be_drawn_is_said_in_one_line(
    outputs: Path, tmp_path: Path, words: list[str], told: str
) -> None:
    with pytest.raises(UserError, match=told) as refused:
        Figures.parsed([*words, "--runs", str(outputs), "--out", str(tmp_path)]).execute()
    assert "\n" not in str(refused.value)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("first", "last", "told"),
    [
        (20, 60, {"20", "30", "50"}),
        (5, 20, {"5", "10", "20"}),
        (5, 300, {"$\\mathdefault{10^{1}}$"}),
    ],
)
def test_an_axis_of_iterations_has_numbers(first: int, last: int, told: set[str]) -> None:
    axes = Figure().subplots()
    iteration_axis(axes, last, first=first)
    axes.figure.draw_without_rendering()
    ticks = {label.get_text() for label in axes.get_xticklabels()}
    assert told <= ticks
