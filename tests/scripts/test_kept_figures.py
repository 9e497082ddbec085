"""Figures of the results that the repository keeps, and what they say of their networks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from ntkexp.results.reading import collect
from ntkexp.results.record import Record
from ntkexp.scripts.lazy import noise_panels
from ntkexp.scripts.runs import chosen
from ntkexp.scripts.spectral import fig33_robustness
from tests.conftest import Script
from tests.scripts.conftest import Drawn, some_on_demand

REFERENCE = Path(__file__).parents[2] / "outputs" / "reference"
# But for those of most studies, which test_figures_of_studies.py draws.
FIGURES = {
    "adaptive": {
        "fig01_label_kernel": ("label_kernel_sgd",),
        "fig03_difficult_points": ("label_kernel_sgd",),
        "fig_alignment": ("mlp_mnist", "vgg19"),
        "fig_layers": ("label_kernel",),
        "fig_readings": ("robustness", "full_batch", "unit_variance", "ntk_unit_variance"),
    },
    "lazy": {
        "fig51_yin_yang": ("yin_yang_maps",),
        "figc9_dense_examples": ("dense_examples",),
        "fig_continuum": ("continuum",),
        "fig_left_out": ("left_out",),
        "fig_c_scores": ("c_scores",),
        "fig52_scores": ("c_scores_mlp",),
        "figc5_score_differences": ("c_scores_mlp",),
        "figc6_score_accuracies": ("c_scores_mlp",),
        "fig_group_alignment": ("c_scores_mlp", "group_alignment_mlp"),
        "fig_kernel_scores": ("left_out_scored",),
        "fig53_spurious": ("spurious_mlp", "waterbirds_kind"),
        "fig_when_hasty": ("spurious_plain", "kernel_after"),
        "figc07_spurious_seeds": ("celeba_kind",),
        "figc08_spurious_seeds": ("spurious_mlp",),
    },
    "spectral": {
        "fig31_spectrum": ("equal", "one_sine"),
        "fig32_functions": ("equal",),
        "fig33_robustness": ("robustness",),
        "fig34_waves": ("waves", "wave_amplitudes", "wave_controls"),
        "fig35_generalised": ("kernel_noise",),
        "fig36_sinusoids": ("sinusoids",),
        "fig37_decisions": ("decision_maps",),
        "fig_kernel": ("kernel", "descent"),
        "figa1_losses": ("equal",),
        "figa2_training": ("waves", "wave_amplitudes", "wave_controls"),
        "figa3_extremes": ("sinusoids",),
        "figa4_dip": ("kernel_noise",),
        "figa6_depth": ("delta_depth",),
        "figa7_width": ("delta_width",),
        "figa8_clip": ("delta_clip",),
        "figa9_predictions": ("delta_clip",),
        "figa10_manifolds": ("manifolds",),
        "figa13_neighbours": ("neighbours", "smoothness"),
    },
}


# Panels of another figure, of other runs or other columns.
ALIKE = {
    "figc5_score_differences", "figc6_score_accuracies", "figc07_spurious_seeds",
    "figc08_spurious_seeds", "figa7_width", "figa8_clip",
}  # fmt: skip


PAPERS = {stem: paper for paper, stems in FIGURES.items() for stem in stems}


@pytest.mark.parametrize("stem", some_on_demand(PAPERS, ALIKE))
def test_a_figure_is_drawn_from_the_kept_results(stem: str, drawn: Drawn) -> None:
    paper = PAPERS[stem]
    drawn(stem, *(REFERENCE / paper / name for name in FIGURES[paper][stem]))


def test_a_seed_of_one_regime_alone_is_no_row(
    script: Script, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The patched CIFAR-10 has three regimes of seed 0, and alpha = 1 alone of seed 1."""
    kept = str(REFERENCE / "lazy" / "spurious_cifar")
    with pytest.raises(SystemExit) as ended:
        script("figc07_spurious_seeds")(["--out", str(tmp_path), "--runs", kept])
    assert ended.value.code == 3
    assert "no two networks of these seeds" in capsys.readouterr().err
    assert script("fig53_spurious")(["--out", str(tmp_path), "--runs", kept]) == 0


def test_runs_of_another_depth_alone_are_no_figure_a_7(
    script: Script, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = [r for r in collect([REFERENCE / "spectral" / "delta_depth"]) if r.axis == 6]
    with pytest.raises(SystemExit) as ended:
        script("figa7_width")(["--out", str(tmp_path), "--runs", *(str(r.folder) for r in kept)])
    assert ended.value.code == 3
    assert "ntkexp train -m +exp=spectral/delta_width" in capsys.readouterr().err


def test_a_note_names_the_regimes_that_are_drawn_of_a_run() -> None:
    """Of 60,000 iterations with alpha = 100 nothing is drawn where a run of 300,000 is at hand."""
    plain, longer = (
        chosen(f"lazy/{name}", [REFERENCE / "lazy" / name], ["evals"])
        for name in ("noise_mlp", "noise_mlp_lazy")
    )
    assert _notes([*plain, *longer]) == [
        "α = 1: 128 units, 10,000 images, 15% of the labels wrong, rate 0.01, 60,000 iterations",
        "α = 100: 128 units, 10,000 images, 15% of the labels wrong, rate 0.01 / α², "
        "300,000 iterations",
    ]
    assert _notes(plain)[0].startswith("α = 1 and 100: ")


def test_figure_3_3_tells_how_many_directions_its_run_has() -> None:
    (kept,) = collect([REFERENCE / "spectral" / "robustness"])
    for count in (100, 7):
        config = {**kept.config, "probe.perturbed_spectrum.directions": count}
        told = fig33_robustness.draw(replace(kept, config=config)).get_supxlabel()
        assert told.startswith(f"{count} directions, 3 networks")


def _notes(records: list[Record]) -> list[str]:
    figure = Figure()
    noise_panels.note(figure, records)
    told = figure.get_supxlabel().splitlines()
    return [line.removeprefix("MLP, MNIST, ") for line in told if "stands in" not in line]
