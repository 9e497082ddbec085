"""The figures of spectral bias are drawn from small runs of their own experiments."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import ntkexp
from tests.scripts.conftest import Drawn, some_on_demand
from tests.scripts.test_kept_figures import FIGURES as ALL_KEPT

NETWORK = ["model.depth=2", "model.width=16", "progress=false"]
TWO = ["members={seed: range(2)}"]
LOOKS = ["optim.steps=20", "probing.every=10", "probe.linear_pieces.steps=[]",
         "probe.curve.steps=[]"]  # fmt: skip
DIGITS = [*LOOKS[:2], "data.train_examples=40", "data.test_examples=20"]
NO_LAYERS = ("neighbours", "sinusoids", "paths", "petal_features")
SMALL: dict[str, list[str]] = {
    "equal": [*TWO, *LOOKS],
    "increasing": [*TWO, *LOOKS],
    "one_sine": [*TWO, *LOOKS[:2]],
    "robustness": [*TWO, *LOOKS[:2], "probe.perturbed_spectrum.directions=2"],
    "petals": [
        *("members={seed: range(2), data.petals: [0, 4]}", "data.train_examples=401", *LOOKS[:2]),
    ],
    "petal_maps": [
        "members={seed: range(2), data.petals: [0, 4]}",
        "data.train_examples=401",
        "optim.steps=20",
        "probe.decision_map.grid=32",
    ],
    "petal_features": [
        "members={seed: range(2), data.petals: [0, 4]}",
        "data.train_examples=401",
        "optim.steps=20",
        "probe.decision_map.grid=32",
        "model.width=16",
    ],
    "classes": [
        "members={seed: range(2), data.petals: [0, 4], data.frequency: [50, 100]}",
        *("data.train_examples=211", "optim.steps=20", "probing.steps=[0,10,20]"),
        "probe.label_score.steps=[0,10]",
    ],
    "decision_maps": [*TWO, *LOOKS[:2], "probe.decision_map.grid=32"],
    "smoothness": [*LOOKS[:2], "probe.decision_map.grid=32"],
    "delta_depth": [*TWO, *LOOKS[:1], "probing.steps=[0,10,20]"],
    "delta_width": [*TWO, *LOOKS[:1], "probing.steps=[0,10,20]", "model.depth=3"],
    "delta_clip": [*TWO, *LOOKS[:1], "probing.steps=[0,10,20]", "optim.clip=0.1"],
    "kernel": ["optim.steps=300"],
    "descent": ["optim.steps=20", "probe.kernel_replay.after=[1,10]"],
    "waves": DIGITS,
    "wave_amplitudes": DIGITS,
    "wave_controls": DIGITS,
    "kernel_noise": [*TWO, *DIGITS, "data.width=2"],
    "manifolds": [*TWO, *LOOKS[:2], "data.train_examples=40", "data.epochs=1"],
    "sinusoids": [],
    "neighbours": ["study.seeds=1", "study.side=32"],
    "paths": [
        *("with_parents=true", "model@study.network=mlp", "study.ends=3", "study.pairs=1"),
        *("study.network.depth=2", "study.network.width=16", "study.first_pairs=10"),
        *("study.attack_steps=10", "study.radius=160", "study.steps=2"),
        "study.weights.set={model:{name:mlp,depth:2,width:16},optim:{lr:0.02,epochs:15}}",
    ],
}
# Those of runs that the repository keeps, which test_kept_figures.py draws; and the others.
KEPT = ALL_KEPT["spectral"]
FIGURES = {
    **KEPT,
    "fig31_spectrum": ("equal", "increasing", "one_sine"),
    "figa1_losses": ("equal", "increasing"),
    "fig38_petals": ("petals",),
    "fig39_accuracy": ("classes",),
    "fig_label_scores": ("classes",),
    "fig_plane": ("petal_maps", "petal_features"),
    "figa11_strips": ("paths",),
    "fig_paths": ("paths",),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, module_images: None) -> Callable[[str], Path]:
    """The folder of an experiment's runs, which are made when it is first asked for."""
    folder = tmp_path_factory.mktemp("spectral")

    @cache
    def made(name: str) -> Path:
        network = NETWORK[2:] if name in NO_LAYERS else NETWORK
        ntkexp.run(f"spectral/{name}", [*network, *SMALL[name]], runs=folder)
        return folder / "spectral" / name

    return made


@pytest.mark.parametrize("stem", some_on_demand(FIGURES, KEPT))
def test_a_figure_is_drawn_from_small_runs(
    stem: str, runs: Callable[[str], Path], drawn: Drawn
) -> None:
    drawn(stem, *map(runs, FIGURES[stem]))
