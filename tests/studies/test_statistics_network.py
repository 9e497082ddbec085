"""Networks that estimate a known mutual information, and what is kept of them."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest
import torch
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from ntkexp.config import StudyConfig
from ntkexp.information.ksg import ksg
from ntkexp.information.mine import Objective, statistics
from ntkexp.seeds import generator
from ntkexp.studies.circle_pairs import CircleEstimator, CirclePairs
from ntkexp.studies.gaussian_pairs import GaussianPairs, Margins
from ntkexp.studies.noisy_functions import NoisyFunctions
from ntkexp.theory.information.gaussian import information
from ntkexp.theory.information.noisy_functions import FUNCTIONS
from ntkexp.training.place import Place
from tests.tiny_runs import goes_on, table, train

SMALL = ("study=gaussian_pairs", "study.network.width=32", "progress=false",
         "probing.spacing=linear", "probing.every=20", "device=cpu")  # fmt: skip


def made(folder: Path, *words: str) -> tuple[pd.DataFrame, pd.Series]:
    """The looks and the estimate of a study of one network."""
    run = train(folder, *SMALL, *words, command="study")
    (estimate,) = (row for _, row in table(run, "information").iterrows())
    return table(run, "information_looks"), estimate


@pytest.mark.parametrize("objective", ["mine", "naive", "mine_f"])
def test_every_objective_finds_the_information_of_two_numbers(
    objective: str, tmp_path: Path
) -> None:
    words = ("study.rho=0.9", "study.lr=0.005", "study.steps=200", "study.samples=2000")
    _, found = made(tmp_path, *words, f"study.objective={objective}")
    assert found["truth"] == pytest.approx(0.8304, abs=1e-4)
    assert found["value"] == pytest.approx(0.83, abs=0.15)


def test_the_value_is_that_of_the_look_that_held_out_pairs_chose(tmp_path: Path) -> None:
    """Thirty-two pairs train: the network learns them by heart."""
    words = ("study.samples=40", "study.steps=400", "study.lr=0.005", "study.population=1000")
    looks, found = made(tmp_path, *words)
    assert found["chosen"] == looks.loc[looks["held_out"].idxmax(), "step"] < 400
    assert found["end_value"] < found["value"]
    assert found["end_train"] - found["end_value"] > found["train"] - found["value"]
    assert found["population"] == pytest.approx(found["value"], abs=0.2)
    assert math.isnan(found["ksg"])


def test_endless_pairs_give_the_mean_of_the_last_ten_looks(tmp_path: Path) -> None:
    looks, found = made(tmp_path, "study.samples=null", "study.steps=300", "study.lr=0.005")
    assert found["value"] == pytest.approx(looks["held_out"][-10:].mean())
    assert looks["train"].isna().all()
    assert math.isnan(found["end_train"])


def test_neighbours_get_all_pairs(tmp_path: Path) -> None:
    _, found = made(tmp_path, "study.neighbours=true", "study.samples=300", "study.steps=1")
    pairs = GaussianPairs().draw(300, generator(0, "information.samples", 0))
    assert found["ksg"] == ksg(*pairs)


def test_a_population_is_not_asked_of_what_it_cannot_show(tmp_path: Path) -> None:
    words = ("study.dimension=20", "study.rho=0.7", "study.steps=1", "study.population=1000")
    _, found = made(tmp_path, *words)
    assert found["truth"] > 4
    assert math.isnan(found["population"])


@pytest.mark.parametrize("samples", ["60", "null"])
def test_networks_that_are_cut_short_go_on(samples: str, tmp_path: Path) -> None:
    words = ("members={study.objective:[mine,mine_f],study.seed:[0,1]}", "study.steps=60",
             "study.batch_size=20", f"study.samples={samples}")  # fmt: skip
    run = goes_on(tmp_path, *SMALL, *words, stop_at=45, command="study")
    assert len(table(run, "information")) == 4


@pytest.mark.parametrize("margins", Margins)
def test_bijections_leave_the_order_of_numbers(margins: Margins) -> None:
    """And so the information: pairs that are sorted by one stay sorted."""
    study = GaussianPairs(rho=0.5, dimension=2, margins=margins)
    plain = GaussianPairs(rho=0.5, dimension=2)
    for mapped, normal in zip(
        *(one.draw(200, torch.Generator().manual_seed(0)) for one in (study, plain)), strict=True
    ):
        assert torch.equal(mapped.argsort(0), normal.argsort(0))
    assert study.truth() == information(0.5, 2)


def test_pairs_are_correlated_coordinate_by_coordinate() -> None:
    x, z = GaussianPairs(rho=-0.6, dimension=3).draw(20_000, torch.Generator().manual_seed(0))
    correlations = torch.corrcoef(torch.cat([x, z], 1).T)
    assert torch.allclose(correlations[:3, 3:], -0.6 * torch.eye(3), atol=0.03)
    assert torch.allclose(correlations[:3, :3], torch.eye(3), atol=0.03)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_left_of_a_noisy_function_is_noise(name: str) -> None:
    study = NoisyFunctions(function=name, sigma=0.3)
    x, z = study.draw(20_000, torch.Generator().manual_seed(0))
    assert x.abs().max() <= 1
    noise = z.numpy() - FUNCTIONS[name](x.numpy())
    assert noise.std() == pytest.approx(0.3, rel=0.02)


def test_what_goes_round_is_found_and_the_linearised_network_begins_as_the_plain_one(
    tmp_path: Path,
) -> None:
    words = ("study.network.activation=relu", "study.lr=0.005", "study.steps=200")
    circle = tuple(word.replace("gaussian", "circle") for word in SMALL)
    runs = {
        linearised: train(
            tmp_path, *circle, *words, f"study.linearised={linearised}", command="study"
        )
        for linearised in ("false", "true")
    }
    found = {key: table(run, "information")["value"][0] for key, run in runs.items()}
    assert table(runs["true"], "information")["truth"][0] == pytest.approx(1.577, abs=1e-3)
    assert found["false"] == pytest.approx(1.5, abs=0.25)
    assert found["true"] < found["false"]
    start, linear = (table(run, "information_start") for run in runs.values())
    assert start["square"][0] == pytest.approx(linear["square"][0], rel=1e-4)


def test_the_square_of_the_gradient_is_that_of_two_halves() -> None:
    """By the bound's own derivative along the other half's gradient."""
    study = CirclePairs(frequency=2, samples=200)
    work = CircleEstimator(study, Place(StudyConfig(), torch.device("cpu")))
    x, z = study.draw(160, torch.Generator().manual_seed(1))
    halves = [(x[:80], z[:80]), (x[80:], z[80:])]
    other = work.gradient(*halves[1])
    network = work.networks["statistics"]
    start = parameters_to_vector(network.parameters()).detach().clone()

    def bound(step: float) -> float:
        vector_to_parameters(start + step * other, network.parameters())
        return Objective.mine.bound(*statistics(network, *halves[0]))

    along = (bound(1e-2) - bound(-1e-2)) / 2e-2
    vector_to_parameters(start, network.parameters())
    assert work.square_of_gradient((x, z)) == pytest.approx(along, rel=0.01)
