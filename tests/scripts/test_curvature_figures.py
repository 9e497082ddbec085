"""The figures of curvature are drawn from small runs of their own experiments."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import ntkexp
from tests.scripts.conftest import Drawn

SHORT = ["data.train_examples=40", "data.test_examples=20", "progress=false", "device=cpu"]
AUTOENCODER = [*SHORT, "model.width=40", "optim.batch_size=10", "optim.epochs=2"]
LOOKS = ["probing.every=4", "optim.period=3"]
SEARCH = [
    *("study.data.train_examples=40", "study.data.test_examples=20", "progress=false"),
    *("study.model.width=40", "study.optim.batch_size=20", "study.epochs=1", "study.drawn=1"),
    *("study.rates=[0.01]", "study.dampings=[0.01]", "study.optim.epochs=1"),
]
TIMED = ["study.batch_sizes=[10]", "study.rounds=1", "progress=false", "device=cpu"]
VGG11 = [*SHORT, "model.base=2", "optim.batch_size=10", "optim.epochs=1", "probing.every=2"]
SMALL = {
    "rescaling": [],
    "drift": [
        *(*SHORT, "model.width=16", "optim.batch_size=10", "optim.steps=20", "probing.examples=20"),
        "probe.fisher_drift.period=10",
    ],
    **{f"autoencoder_{name}": [*AUTOENCODER, *LOOKS] for name in ("kfac", "ekfac", "ra", "200")},
    **{f"autoencoder_{method}": [*AUTOENCODER, LOOKS[0]] for method in ("sgd", "adam")},
    "search": SEARCH,
    "amortised_kfac": [*AUTOENCODER, LOOKS[0], "optim.period=1"],
    "autoencoder_seconds": [*TIMED, "study.model.width=40"],
    "vgg11_seconds": [*TIMED, "study.model.base=2"],
    **{f"vgg11_{name}": VGG11 for name in ("kfac", "ra", "sgd", "sgd_norm", "batches")},
    **{f"resnet34_{name}": VGG11 for name in ("kfac", "ra", "sgd_norm", "batches")},
    **{f"resnet34_schedule_{name}": VGG11 for name in ("kfac", "ra")},
    "resnet34_seconds": [*TIMED, "study.model.base=2"],
    **{f"vgg11_schedule_{name}": VGG11 for name in ("kfac", "ra")},
    "preconditioned_vgg11": [
        *(*SHORT, "model.base=2", "optim.batch_size=10", "optim.steps=4"),
        *("probing.steps=[0,4]", "scale=tiny"),
    ],
    "noise_ekfac": [*SHORT, "model.width=8", "optim.batch_size=10", "optim.steps=20"],
    "spectrum": [*AUTOENCODER, LOOKS[0], "probing.examples=20"],
}
FIGURES = {
    "fig41_rescaling": ("rescaling",),
    "fig42_drift": ("drift",),
    "fig43_autoencoder": (
        *(f"autoencoder_{method}" for method in ("kfac", "ekfac", "ra", "sgd", "adam", "200")),
        "search",
        "autoencoder_seconds",
    ),
    "fig44_amortised": ("autoencoder_kfac", "amortised_kfac", "spectrum", "autoencoder_seconds"),
    "fig45_vgg11": ("vgg11_kfac", "vgg11_ra", "vgg11_sgd", "vgg11_sgd_norm", "vgg11_seconds"),
    "fig_divided_kernels": ("preconditioned_vgg11",),
    "fig_damped_noise": ("noise_ekfac",),
    "fig46_resnet34": ("resnet34_kfac", "resnet34_ra", "resnet34_sgd_norm", "resnet34_seconds"),
    "figa1_batches": ("vgg11_batches",),
    "figa2_time": ("vgg11_batches", "vgg11_seconds"),
    "figa3_batches": ("resnet34_batches",),
    "figa4_schedule": ("vgg11_schedule_kfac", "vgg11_schedule_ra"),
    "figa5_schedule": ("resnet34_schedule_kfac", "resnet34_schedule_ra"),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, module_images: None) -> Callable[[str], Path]:
    """The folder of an experiment's runs, which are made when it is first asked for."""
    folder = tmp_path_factory.mktemp("curvature")

    @cache
    def made(name: str) -> Path:
        ntkexp.run(f"curvature/{name}", SMALL[name], runs=folder)
        return folder / "curvature" / name

    return made


@pytest.mark.parametrize("stem", FIGURES)
def test_a_figure_is_drawn_from_small_runs(
    stem: str, runs: Callable[[str], Path], drawn: Drawn
) -> None:
    drawn(stem, *map(runs, FIGURES[stem]))
