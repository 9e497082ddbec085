"""The probes of spectral bias, beside what the network itself says."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from ntkexp import data
from ntkexp.data.sines import Sines
from ntkexp.models import build
from ntkexp.models.base import Init
from ntkexp.models.mlp import Mlp
from ntkexp.objectives.squared_error import SquaredErrorLoss
from ntkexp.probes.curve import Curve
from ntkexp.probes.fourier import Fourier
from ntkexp.probes.linear_pieces import LinearPieces
from ntkexp.probes.spectral_norms import SpectralNorms
from ntkexp.probes.view import NetworkView, View


class Exact(nn.Module):
    """The target itself, times 0.5."""

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        signal = Sines(frequencies=[3, 7]).signal(z[:, 0].double().numpy(), 0)
        return torch.from_numpy(0.5 * signal)[:, None].float()


def view(network: nn.Module, *, step: int = 0, member: int = 0) -> View:
    dataset = data.load(Sines(frequencies=[3, 7]), 0, torch.device("cpu"), progress=False)
    facts = {"step": step, "seed": 0, "last": False, "member": member}
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
