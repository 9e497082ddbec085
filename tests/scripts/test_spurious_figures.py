"""Figures on wrong labels, spurious attributes, C-scores and of our own, of the kept results."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.figure import Figure

from ntkexp.results.record import Record
from ntkexp.scripts.lazy import noise_panels
from ntkexp.scripts.runs import chosen
from tests.conftest import Script

REFERENCE = Path(__file__).parents[2] / "outputs" / "reference" / "lazy"
FIGURES = {
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
}


@pytest.mark.parametrize("stem", FIGURES)
def test_a_figure_is_drawn_from_the_kept_results(stem: str, script: Script, tmp_path: Path) -> None:
    folders = [str(REFERENCE / name) for name in FIGURES[stem]]
    assert script(stem)(["--out", str(tmp_path), "--runs", *folders]) == 0
    drawn = sorted(path.name for path in tmp_path.iterdir())
    assert drawn == [f"{stem}.{kind}" for kind in ("pdf", "png", "svg")]
    assert all(path.stat().st_size > 5_000 for path in tmp_path.iterdir())


def test_without_runs_the_commands_are_told(
    script: Script, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        script("fig53_spurious")(["--out", str(tmp_path), "--runs", str(tmp_path)])
    assert ended.value.code == 3
    told = capsys.readouterr().err
    assert "ntkexp train -m +exp=lazy/spurious_cifar" in told
    assert "ntkexp train -m --with-parents +exp=lazy/waterbirds" in told


def test_a_seed_of_one_regime_alone_is_no_row(
    script: Script, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The patched CIFAR-10 has three regimes of seed 0, and alpha = 1 alone of seed 1."""
    kept = str(REFERENCE / "spurious_cifar")
    with pytest.raises(SystemExit) as ended:
        script("figc07_spurious_seeds")(["--out", str(tmp_path), "--runs", kept])
    assert ended.value.code == 3
    assert "no two networks of these seeds" in capsys.readouterr().err
    assert script("fig53_spurious")(["--out", str(tmp_path), "--runs", kept]) == 0


def test_a_note_names_the_regimes_that_are_drawn_of_a_run() -> None:
    """Of 60,000 iterations with alpha = 100 nothing is drawn where a run of 300,000 is at hand."""
    plain, longer = (
        chosen(f"lazy/{name}", [REFERENCE / name], ["evals"])
        for name in ("noise_mlp", "noise_mlp_lazy")
    )
    assert _notes([*plain, *longer]) == [
        "α = 1: 128 units, 10,000 images, 15% of the labels wrong, rate 0.01, 60,000 iterations",
        "α = 100: 128 units, 10,000 images, 15% of the labels wrong, rate 0.01, 300,000 iterations",
    ]
    assert _notes(plain)[0].startswith("α = 1 and 100: ")


def _notes(records: list[Record]) -> list[str]:
    figure = Figure()
    noise_panels.note(figure, records)
    told = figure.get_supxlabel().splitlines()
    return [line.removeprefix("MLP, MNIST, ") for line in told if "stands in" not in line]
