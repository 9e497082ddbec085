"""The figures of mutual information are drawn from small runs of their own experiments."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from tests.scripts.conftest import Drawn
from tests.tiny_runs import train

# Members in all that their experiments sweep, with two values each.
MEMBERS = {
    "gaussians": "{study.rho:[0.3,0.9],study.objective:[mine,mine_f],study.seed:[0,1]}",
    "equitability": "{study.function:[identity,cube,sine],study.sigma:[0.1,0.9],study.seed:[0,1]}",
    "consistency": "{study.samples:[100,1000],study.seed:[0,1]}",
    "circle": "{study.frequency:[1,4],study.given:[false,true],study.seed:[0,1]}",
    "circle_linearised": "{study.seed:[0,1]}",
    "inference": "{study.variant:[ali,l2,adversarial,mine],study.seed:[0,1]}",
    "toys": "{study.toy:[gaussians,spiral],study.beta:[0.0,1.0],study.seed:[0,1]}",
}
FIGURES = {
    "fig51_gaussians": ("gaussians", "gaussians_20", "gaussians_20_endless"),
    "fig52_equitability": ("equitability",),
    "fig53_spiral": ("toys",),
    "fig54_gaussians": ("toys",),
    "fig55_stacked": ("stacked",),
    "fig56_inference": ("inference",),
    "figc1_embeddings": ("inference",),
    "fig_table51": ("stacked",),
    "fig_table52": ("digit_inference",),
    "fig_table53": ("bottleneck", "bottleneck_others"),
    "fig_limits": ("limits",),
    "fig_circle": ("circle", "circle_linearised"),
    "fig_errors": ("gaussians", "gaussians_20", "equitability", "consistency", "consistency_20"),
}


@cache
def run_of(experiment: str, folder: Path) -> Path:
    kind = experiment.partition("_")[0]
    words = [f"+exp=information/{experiment}", "progress=false"]
    if kind == "limits":
        words += ["study.repetitions=5", "study.sizes=[100,1000]"]
    elif kind == "bottleneck":
        variant = "dropout" if experiment.endswith("others") else "dvb"
        words += [f"study.variant={variant}", "study.steps=2", "study.examples=60"]
    elif kind == "stacked":
        words += ["study.weights.run=null", "study.network.base=2", "study.base=2",
                  "study.batch_size=10", "study.samples=40", "study.steps=2"]  # fmt: skip
    elif kind == "digit":
        words += ["study.weights.run=null", "study.network.base=2", "study.base=2",
                  "study.batch_size=10", "study.steps=2"]  # fmt: skip
    elif kind in ("inference", "toys"):
        members = MEMBERS.get(experiment, MEMBERS[kind])
        words += [f"members={members}", "study.steps=3", "probing.every=2"]
    else:
        endless = experiment.endswith("endless")
        members = MEMBERS.get(experiment, MEMBERS[kind])
        words += [f"members={members}", "study.network.width=8", "study.steps=4",
                  "study.population=50", "probing.every=2",
                  *([] if endless or kind == "consistency" else ["study.samples=100"])]  # fmt: skip
    return train(folder / experiment, *words, command="study")


@pytest.mark.usefixtures("made_images")
@pytest.mark.parametrize("stem", FIGURES)
def test_a_figure_is_drawn_from_small_runs(
    stem: str, drawn: Drawn, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("information")
    drawn(stem, *(run_of(experiment, folder) for experiment in FIGURES[stem]))
