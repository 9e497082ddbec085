"""The probes of spectral bias, beside what the network itself says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from ntkexp import data
from ntkexp.data.petal_classes import PetalClasses
from ntkexp.data.petals import Petals
from ntkexp.data.sines import Sines
from ntkexp.errors import UserError
from ntkexp.models import build
from ntkexp.models.base import Init
from ntkexp.models.mlp import Mlp
from ntkexp.objectives.binary import BinaryLoss
from ntkexp.objectives.squared_error import SquaredErrorLoss
from ntkexp.probes.curve import Curve
from ntkexp.probes.decision_map import DecisionMap
from ntkexp.probes.fourier import Fourier
from ntkexp.probes.label_score import LabelScore
from ntkexp.probes.linear_pieces import LinearPieces
from ntkexp.probes.perturbed_spectrum import PerturbedSpectrum, direction
from ntkexp.probes.spectral_norms import SpectralNorms
from ntkexp.probes.view import NetworkView, View
from ntkexp.theory.spectral.manifold import radial_spectrum


class Exact(nn.Module):
    """The target itself, times 0.5."""

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        signal = Sines(frequencies=[3, 7]).signal(z[:, 0].double().numpy(), 0)
        return torch.from_numpy(0.5 * signal)[:, None].float()


def view(network: nn.Module, *, step: int = 0, member: int = 0, points: int = 200) -> View:
    sines = Sines(frequencies=[3, 7], train_examples=points)
    dataset = data.load(sines, 0, torch.device("cpu"), progress=False)
    facts: Any = {"step": step, "seed": 0, "last": True, "member": member}
    return NetworkView(network, dataset, SquaredErrorLoss(1), **facts)


def mlp() -> nn.Module:
    return build(Mlp(depth=2, width=8, init=Init.default), (1,), 1, 0)


def test_a_network_of_half_the_target_has_half_of_each_coefficient() -> None:
    rows = Fourier(frequencies=[3, 4, 7]).measure(view(Exact()))["fourier"]
    assert rows["magnitude"] == pytest.approx(np.array([0.5, 0, 0.5]), abs=1e-6)
    assert rows["residual"] == pytest.approx(np.array([0.5, 0, 0.5]), abs=1e-6)
    assert rows["target"] == pytest.approx(np.array([1.0, 0, 1.0]), abs=1e-6)


def test_all_frequencies_unless_some_are_named() -> None:
    assert list(Fourier().measure(view(Exact()))["fourier"]["k"]) == [*range(1, 101)]


def test_few_points_have_no_high_frequency() -> None:
    rows = PerturbedSpectrum(frequencies=[3, 7], directions=1).measure(view(mlp(), points=5))
    assert len(rows["perturbed_spectrum"]["k"]) == 0
    assert len(Fourier().measure(view(mlp(), points=1))["fourier"]["k"]) == 0


def test_spectral_norms_are_those_of_the_layers() -> None:
    network = mlp()
    rows = SpectralNorms().measure(view(network))["spectral_norms"]
    exact = {
        name: float(torch.linalg.matrix_norm(layer.weight.detach(), 2))
        for name, layer in network.named_modules()
        if isinstance(layer, nn.Linear)
    }
    assert rows["layer"] == [*exact]
    assert rows["norm"] == pytest.approx([*exact.values()], rel=0.1)
    assert all(found <= exact[layer] * 1.0001 for layer, found in zip(*rows.values(), strict=True))


def test_the_largest_slope_is_that_of_a_fine_grid() -> None:
    network = mlp()
    row = LinearPieces().measure(view(network))["linear_pieces"]
    x = torch.linspace(0, 1, 200_001, dtype=torch.float64)[:, None]
    with torch.no_grad():
        slopes = network.double()(x)[:, 0].diff() * 200_000
    assert row["lipschitz"] == pytest.approx(float(slopes.abs().max()), rel=1e-6)
    assert row["lipschitz"] <= row["product"] <= row["max_norm"]


@pytest.mark.parametrize(
    "probe", [Curve(steps=[5], networks=1), LinearPieces(steps=[5], networks=1)]
)
def test_few_steps_of_few_networks(probe: Curve | LinearPieces) -> None:
    assert probe.measure(view(mlp(), step=5))
    assert not probe.measure(view(mlp(), step=4))
    assert not probe.measure(view(mlp(), step=5, member=1))


@pytest.mark.parametrize(
    "network",
    [
        build(Mlp(depth=2, width=8), (2,), 1, 0),
        build(Mlp(depth=2, width=8), (1,), 3, 0),
        nn.Sequential(nn.Linear(1, 1, bias=False)),
        nn.Sequential(),
    ],
)
def test_pieces_are_of_one_input_and_one_output(network: nn.Module) -> None:
    with pytest.raises(UserError, match=r"^probe\.linear_pieces: expected linear layers with"):
        LinearPieces().measure(view(network))


def test_a_label_score_is_of_one_output() -> None:
    network = build(Mlp(depth=1, width=2), (1,), 3, 0)
    with pytest.raises(UserError, match="label_score: expected one output, there are 3"):
        LabelScore().measure(view(network))


def test_a_scaled_kernel_has_the_logarithm_of_its_factor_more() -> None:
    dataset = data.load(Sines(train_examples=12), 0, torch.device("cpu"), progress=False)
    facts: Any = {"step": 0, "seed": 0, "last": False}
    one, nine = (
        NetworkView(mlp(), dataset, SquaredErrorLoss(1), kernel_factor=factor, **facts)
        for factor in (1.0, 9.0)
    )
    scores = [LabelScore().measure(seen)["label_score"]["score"] for seen in (one, nine)]
    assert scores[1] - scores[0] == pytest.approx(np.log(9))


class Wave(nn.Module):
    """sin(2 pi (3 x + 4 y) / 3.2), whose probability of class 1 has the frequencies (3, 4), and odd
    multiples of them."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(0.1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        turns = (3 * x[:, :1] + 4 * x[:, 1:]) / 3.2
        return self.scale * torch.sin(2 * torch.pi * turns)


def test_a_map_is_the_network_on_a_lattice_and_its_spectrum_that_of_the_network() -> None:
    facts: Any = {"step": 5, "seed": 0, "last": True}
    dataset = data.load(PetalClasses(), 0, torch.device("cpu"), progress=False)
    seen = NetworkView(Wave(), dataset, BinaryLoss(), **facts)
    found = DecisionMap(grid=32, kept=1).measure(seen)
    table = pd.DataFrame(found["radial_spectrum"]).pivot(index="k", columns="map", values="zeta")
    assert table["probability"].idxmax() == table["class"].idxmax() == 5
    # sigmoid(u) is 1/2 + u/4 near 0: two coefficients of half the amplitude 0.1 / 4.
    assert table.loc[5, "probability"] == pytest.approx(0.025, rel=1e-3)
    # A square wave: two coefficients of 1/pi each, and overtones past the lattice fold back.
    assert table.loc[5, "class"] == pytest.approx(2 / np.pi, rel=0.1)
    shown = pd.DataFrame(found["decision_map"])
    row = shown[(shown["row"] == 16) & (shown["column"] == 18)]["logit"].item()
    assert row == pytest.approx(0.1 * np.sin(2 * np.pi * 3 * 0.2 / 3.2), abs=0.006)


def test_where_targets_are_numbers_the_map_is_of_the_output_in_a_window() -> None:
    facts: Any = {"step": 5, "seed": 0, "last": True}
    dataset = data.load(Petals(), 0, torch.device("cpu"), progress=False)
    seen = NetworkView(Wave(), dataset, SquaredErrorLoss(1), **facts)
    found = DecisionMap(grid=32, kept=1).measure(seen)
    assert {*found} == {"radial_spectrum"}
    table = pd.DataFrame(found["radial_spectrum"])
    assert {*table["map"]} == {"output"}
    zeta = table.set_index("k")["zeta"]
    # A Hann window in each direction has weights 1/4, 1/2, 1/4 at the neighbours of a frequency.
    line = np.hanning(33)[:-1]
    y, x = np.meshgrid(np.arange(32) / 32, np.arange(32) / 32, indexing="ij")
    # 3.2 (x - 1/2) is the lattice, so the wave has another phase.
    wave = 0.1 * np.sin(2 * np.pi * (3 * (x.T - 0.5) + 4 * (y.T - 0.5)))
    assert zeta.to_numpy() == pytest.approx(radial_spectrum(wave * np.outer(line, line)), abs=1e-6)
    assert zeta.idxmax() == 5


def test_a_perturbation_keeps_what_it_does_not_touch_and_has_its_length() -> None:
    network = mlp()
    weights = {name: w.detach() for name, w in network.named_parameters()}
    u = direction(weights, torch.Generator().manual_seed(0))
    assert sum(float(part.square().sum()) for part in u.values()) == pytest.approx(1, rel=1e-5)
    facts: Any = {"step": 5, "seed": 0, "last": True}
    dataset = data.load(Sines(frequencies=[3, 7]), 0, torch.device("cpu"), progress=False)
    seen = NetworkView(network, dataset, SquaredErrorLoss(1), **facts)
    probe = PerturbedSpectrum(frequencies=[3, 7], deltas=[1e-6, 3.0], directions=20)
    table = pd.DataFrame(probe.measure(seen)["perturbed_spectrum"])
    little, much = table[table["delta"] == 1e-6], table[table["delta"] == 3.0]
    assert little["magnitude"].to_numpy() == pytest.approx(1, abs=1e-3)
    assert little["residual"].max() < 1e-3
    assert much["residual"].min() > 0.3
    alone = replace(probe, directions=1).measure(seen)["perturbed_spectrum"]
    assert alone["residual"][2:] != pytest.approx(much["residual"].to_numpy(), rel=1e-3)
