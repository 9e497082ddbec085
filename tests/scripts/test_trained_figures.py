"""Every figure of a trained network from real, tiny runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from ntkexp.results import select
from ntkexp.results.record import Record
from ntkexp.scripts import trained
from ntkexp.scripts.alignment import fig07_directions
from ntkexp.scripts.alignment.fig02_spectrum import LABEL_HEIGHT, ratios
from tests.conftest import Script
from tests.papers.made import rows
from tests.scripts.conftest import Drawn, some_on_demand
from tests.tiny_runs import train

# Enough steps for a curve from iteration 10 on, of networks as small as they come.
SMALL = (
    "data.train_examples=60",
    "data.test_examples=30",
    "probing.examples=6",
    "optim.batch_size=20",
    "optim.steps=20",
    "probing.growth=1.5",
    "progress=false",
    "device=cpu",
)
VGG = (*SMALL, "model=vgg11", "model.base=2")
UNCENTRED = "probe.spectrum.uncentred=true"
SPLIT = (*SMALL, "model.depth=2", "model.width=8", "data.difficult_examples=20")
ONE_LAYER = (*SMALL, "model.width=8", "optim.lr=0.05", "optim.steps=60")
RUNS = {
    "fig02_spectrum": [
        ("+exp=vgg19_clean", *VGG, UNCENTRED),
        ("+exp=vgg19_noise20", *VGG, UNCENTRED),
        ("+exp=vgg19_noise50", *VGG, UNCENTRED, "seed=0"),
        ("+exp=vgg19_noise50", *VGG, UNCENTRED, "seed=1"),
    ],
    "fig_width": [("+exp=vgg19_clean", *VGG), ("+exp=vgg19_clean", *VGG, "model.base=64")],
    "fig14_low_rate": [("+exp=vgg19_clean_lr003", *VGG), ("+exp=vgg19_noise50_lr003", *VGG)],
    "fig04_easy_difficult": [
        ("+exp=easy_difficult_noise", *SPLIT),
        ("+exp=easy_difficult_kmnist", *SPLIT),
    ],
    "fig11_test_alignment": [
        ("+exp=mlp_mnist", *SMALL, "model.depth=2", "model.width=8"),
        ("+exp=resnet18_cifar10", *SMALL, "model.base=2"),
    ],
    "fig13_depth": [
        ("+exp=easy_difficult_depth", *SPLIT, f"model.depth={depth}", f"seed={seed}")
        for depth in (1, 2)
        for seed in (0, 1)
    ],
    "fig07_directions": [
        ("+exp=vgg11_directions", *VGG, "probe.directions.count=3", "probe.directions.examples=10")
    ],
    "fig06_complexity": [
        *(("+exp=complexity_width", *ONE_LAYER, f"model.width={width}") for width in (8, 16)),
        *(("+exp=complexity_width_lr001", *ONE_LAYER, f"model.width={w}") for w in (8, 16)),
        *(("+exp=complexity_noise", *ONE_LAYER, f"data.noise={q}") for q in (0, 0.5)),
        *(("+exp=complexity_channels", *VGG, f"model.base={base}") for base in (4, 8)),
    ],
}
# Figures that draw the runs of another one.
DRAWN_FROM = {name: (name,) for name in RUNS} | {
    "fig03_alignment": ("fig02_spectrum",),
    "fig11_test_alignment": ("fig02_spectrum", "fig11_test_alignment"),
    "fig12_uncentred": ("fig02_spectrum", "fig11_test_alignment"),
    "fig_memorising": ("fig02_spectrum",),
}
# Of many networks, or drawn by the code of another figure.
MANY_RUNS = {"fig06_complexity", "fig13_depth", "fig14_low_rate", "fig_width"}


@pytest.fixture(scope="module")
def runs(module_images: None, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a figure's own runs, which are trained when it is first asked for."""
    folder = tmp_path_factory.mktemp("runs")

    @cache
    def trained(name: str) -> Path:
        for words in RUNS[name]:
            train(folder / name, *words)
        return folder / name

    return trained


@pytest.mark.parametrize("stem", some_on_demand(DRAWN_FROM, MANY_RUNS))
def test_it_is_drawn(
    drawn: Drawn, runs: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, stem: str
) -> None:
    # Networks of a few steps know no labels by heart.
    monkeypatch.setattr(select, "has_fitted", lambda _: True)
    drawn(stem, *map(runs, DRAWN_FROM[stem]))


@pytest.mark.parametrize(
    ("stem", "commands"),
    [
        ("fig01_disk_eigenfunctions", ["ntkexp train +exp=disk"]),
        ("fig02_spectrum", ["ntkexp train +exp=vgg19_clean", "+exp=vgg19_noise50"]),
        ("fig06_complexity", ["ntkexp train -m +exp=complexity_width", "+exp=complexity_noise"]),
        ("fig13_depth", ["ntkexp train -m +exp=easy_difficult_depth"]),
        ("fig05_supernat", ["ntkexp study +exp=supernat"]),
        (
            "fig53_spurious",
            [
                "ntkexp train -m +exp=lazy/spurious_cifar",
                "ntkexp train -m --with-parents +exp=lazy/waterbirds",
            ],
        ),
    ],
)
def test_without_runs_it_names_every_command_that_makes_them(
    script: Script,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    stem: str,
    commands: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as end:
        script(stem)([])
    assert end.value.code == 3
    told = capsys.readouterr().err
    for command in commands:
        assert command in told


def test_captions_tell_a_smaller_miniature_from_a_larger_one() -> None:
    def group(name: str, base: int, scale: str) -> trained.SeedRuns:
        config = {"name": name, "model.name": "vgg", "model.depth": 19, "model.base": base}
        config |= {"data.name": "cifar10", "data.train_examples": 2000, "probing.examples": 40}
        return trained.SeedRuns((Record(name, "run", config | {"scale.name": scale}, {}),), {})

    clean, half = group("vgg19_clean", 16, "paper"), group("vgg19_noise50", 16, "paper")
    fifth, full = group("vgg19_noise20", 8, "small"), group("vgg19_clean", 64, "paper")
    assert trained._miniatures([full]) == []
    assert trained._miniatures([clean, half]) == ["miniature (VGG19): 16 channels for 64"]
    assert trained._miniatures([clean, fifth, half]) == [
        "miniature (vgg19_clean, vgg19_noise50): 16 channels for 64",
        "miniature (vgg19_noise20): 8 channels for 64, 2,000 training examples, kernels on 40",
    ]


def test_where_numbers_are_learned_no_accuracy_is_told() -> None:
    evals = rows({"split": ("train", "test"), "step": (0, 20)}, subset="all", accuracy=np.nan)
    assert trained.ends([Record("mine", "run", {}, {"evals": evals})]) == "20 iterations"


def test_the_band_of_figure_7_is_the_one_that_its_note_names() -> None:
    """From the least to the most of three seeds."""
    axes = {"run": ("a", "b", "c"), "kind": ("singular", "random"),
            "method": ("jvp", "perturbation"), "index": (0, 1)}  # fmt: skip
    variations = np.array([[1.0, 2.0], [3.0, 4.0], [9.0, 8.0]])
    table = rows(axes, variation=variations[:, None, None])
    config = {"model.name": "vgg", "model.depth": 11, "data.name": "cifar10", "scale.name": "paper"}
    records = tuple(Record("vgg11_directions", run, config, {}) for run in axes["run"])
    figure = fig07_directions.draw(trained.SeedRuns(records, {"directions": table}))
    assert "3 seeds; mean, least and most" in figure.get_supxlabel()
    singular, _ = figure.axes[0].collections
    assert {*singular.get_paths()[0].vertices[:, 1]} == {1.0, 2.0, 8.0, 9.0}


def test_labels_of_trace_ratios_keep_their_distance() -> None:
    """Where one eigenvalue is nearly the whole trace, every T_k is near 1."""
    nearly_one = 1 - 0.01 / np.arange(1, 201)
    looks = pd.DataFrame({"run": "one", "step": [10, 20], "ratios": [nearly_one, nearly_one]})
    axes = Figure().subplots()
    ratios(axes, looks)
    high, middle, low = (text.xy[1] for text in axes.texts)
    assert high == pytest.approx(nearly_one[159])
    assert min(high - middle, middle - low) >= LABEL_HEIGHT - 1e-12
