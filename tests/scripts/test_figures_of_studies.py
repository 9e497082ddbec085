"""Every study's figure is drawn from tables that the study has just made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest
from omegaconf import OmegaConf

from ntkexp import studies
from ntkexp.models.activations import Activation
from ntkexp.models.lenet5 import Lenet5
from ntkexp.results import Run
from ntkexp.results.reading import collect
from ntkexp.scripts.alignment import fig09_feature_scaling
from tests.conftest import Script
from tests.scripts.conftest import Drawn

REFERENCE = Path(__file__).parents[2] / "outputs" / "reference"
# study -> its script, and options that make it a matter of milliseconds
FIGURES: dict[str, tuple[str, dict[str, Any]]] = {
    "supernat": ("fig05_supernat", {"seeds": 3, "iterations": 30}),
    "fourier_modes": (
        "fig08_fourier_modes",
        {"seeds": 1, "points": 10, "depth": 2, "width": 16, "shown": [0, 3]},
    ),
    "feature_scaling": (
        "fig09_feature_scaling",
        {
            "points": 60,
            "features": 60,
            "half_width": 5.0,
            "n": 10,
            "subsamples": 5,
            "scales": [0.0, 0.5, 0.9],
        },
    ),
    "rademacher": (
        "fig_rademacher_bounds",
        {"seeds": 2, "sizes": [2, 4], "multiclass_sizes": [2, 3], "sampled_weights": 50},
    ),
    "local_bias": (
        "fig_local_bias",
        {"seeds": 1, "n": 8, "width": 8, "iterations": [0, 5], "etas": [1e-4, 1e-3]},
    ),
    "linear_modes": ("fig_linear_modes", {"n": 5, "iterations": 50}),
    "effective_penalties": ("fig02_penalties", {"points": 20}),
    "threshold_targets": ("fig_targets", {"seeds": 2, "train_examples": 40}),
    "relaxed_accuracy": (
        "fig_relaxed",
        {"seeds": 2, "sizes": [10, 20], "width": 8, "iterations": 3, "epochs": 2},
    ),
    "normal_distributions": ("fig21_normal_distributions", {}),
    "quadratic_examples": ("fig54_quadratic_examples", {"rotations": 2, "points": 30}),
    "anisotropy_directions": (
        "fig09_images",
        {"network": Lenet5(base=2, activation=Activation.gelu), "side": 8, "gaussian": 2},
    ),
    "low_rank_change": (
        "fig_low_rank",
        {
            "seeds": 2,
            "ranks": [1, 2],
            "train_examples": 20,
            "width": 8,
            "batch_size": 10,
            "epochs": 3,
            "points": 2,
        },
    ),
}


def run_study(name: str, options: dict[str, Any], experiment: str, folder: Path) -> None:
    chosen = studies.choose({"name": name, **options})
    with Run(folder, chosen.tables) as run:
        run.begin(OmegaConf.to_yaml({"name": experiment, "study": options}), {})
        for table, frame in chosen.run().items():
            run.add(table, {column: frame[column].to_numpy() for column in frame})
        run.finish()


def test_every_study_has_a_figure() -> None:
    """yin_yang_maps reads two runs, c_scores trains: theirs are drawn from kept results.
    checkpoints has those of a training run; eigenpairs makes tasks, whose networks are drawn;
    kernel_rows makes parts of a kernel.
    Those of spectral bias, of mutual information and of curvature have tests of their own."""
    elsewhere = {"yin_yang_maps", "c_scores", "checkpoints", "eigenpairs", "kernel_rows"}
    spectral = {"petal_neighbours", "kernel_sinusoids", "image_paths"}
    information = {"bottleneck", "circle_pairs", "digit_inference", "gaussian_pairs",
                   "information_estimate", "information_limits", "noisy_functions",
                   "stacked_digits", "toy_gans", "toy_inference"}  # fmt: skip
    curvature = {"rescaling", "search", "update_seconds"}
    assert {*FIGURES} | elsewhere | spectral | information | curvature == set(studies.names())


@pytest.mark.usefixtures("made_images")
@pytest.mark.parametrize("study", FIGURES)
def test_a_figure_is_drawn_from_the_tables_of_its_study(
    study: str, script: Script, tmp_path: Path, drawn: Drawn
) -> None:
    stem, options = FIGURES[study]
    run_study(study, options, script(stem).experiments[0], tmp_path / "runs" / "one")
    drawn(stem, tmp_path / "runs")


@pytest.mark.usefixtures("made_images")
@pytest.mark.parametrize("study", ["linear_modes", "relaxed_accuracy"])
def test_of_several_runs_a_figure_says_which_it_draws(
    study: str, script: Script, tmp_path: Path, capsys: pytest.CaptureFixture[str], as_svg: None
) -> None:
    stem, options = FIGURES[study]
    main = script(stem)
    for seed in (0, 1):
        folder = tmp_path / "runs" / f"seed{seed}"
        run_study(study, {**options, "seed": seed}, main.experiments[0], folder)
    assert main(["--runs", str(tmp_path / "runs"), "--out", str(tmp_path)]) == 0
    assert "drawing seed0 of 2 runs" in capsys.readouterr().err


def test_each_scatter_of_figure_9_has_its_own_scale_and_the_curves_share_one() -> None:
    records = collect([REFERENCE / "feature_scaling"])
    records.sort(key=lambda record: record.axis)
    figure = fig09_feature_scaling.draw(records)
    scatters, curves = figure.axes[: len(records)], figure.axes[len(records) :]
    plt.close(figure)
    assert len({axes.get_ylim() for axes in scatters}) == len(records)
    assert len({axes.get_ylim() for axes in curves}) == 1
    for axes, record in zip(scatters, records, strict=True):
        assert f"a = {record.axis:g}$: ratio" in axes.get_title()
    assert "100 subsamples" in figure.get_supxlabel()
