"""Elastic bands on energies whose best paths are known."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from ntkexp.studies.elastic_band import Band, at, auto_neb, filled, tangents, with_more

STIFF, HIGH = 8.0, 0.7


def wells(points: Tensor) -> Tensor:
    """Two wells at x = -1 and 1; between them one saddle of energy 1 at (0, HIGH)."""
    x, y = points.T
    return (x**2 - 1) ** 2 + STIFF * (y - HIGH * (1 - x**2)) ** 2


def test_a_path_between_two_wells_goes_over_the_saddle() -> None:
    """No path has less than the saddle's 1 at its highest; the straight line has 1 + 8 * 0.7^2."""
    ends = torch.tensor([[[-1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [-1.0, 0.0]]]).double()
    line = wells(filled(ends, 99).flatten(0, 1)).view(2, -1).amax(1)
    path = auto_neb(wells, ends, Band(steps=200, lr=0.01))
    highest = wells(filled(path).flatten(0, 1)).view(2, -1).amax(1)
    torch.testing.assert_close(
        line, torch.full((2,), 1 + STIFF * HIGH**2).double(), rtol=0.01, atol=0
    )
    assert ((highest >= 1) & (highest < 1.05)).all()
    torch.testing.assert_close(path[0], path[1].flip(0), atol=1e-6, rtol=0)
    assert torch.equal(path[:, [0, -1]], ends)
    assert path.shape[1] == 2 + 3 + 3 * 2
    bounded = auto_neb(wells, ends, Band(steps=200, lr=0.01, low=-1, high=0.5))
    assert bounded[..., 1].max().item() == pytest.approx(0.5)


def test_places_are_shares_of_the_length() -> None:
    """As numpy interpolates every coordinate along the length."""
    path = torch.randn(2, 6, 3, generator=torch.Generator().manual_seed(0)).double()
    places = torch.linspace(0, 1, 23).repeat(2, 1).double()
    for one, found in zip(path.numpy(), at(path, places).numpy(), strict=True):
        reached = np.append(0, np.linalg.norm(np.diff(one, axis=0), axis=1).cumsum())
        wanted = [np.interp(places[0] * reached[-1], reached, column) for column in one.T]
        np.testing.assert_allclose(found, np.transpose(wanted), atol=1e-12)


@pytest.mark.parametrize(
    ("energies", "ahead", "behind"),
    [((0, 1, 3), 1, 0), ((3, 1, 0), 0, 1), ((0, 5, 2), 5, 3), ((2, 5, 0), 3, 5), ((4, 1, 2), 1, 3)],
)
def test_tangents_are_those_of_henkelman_and_jonsson(
    energies: tuple[float, ...], ahead: float, behind: float
) -> None:
    """Towards the higher neighbour; at extremes both sides, weighted by changes of energy."""
    path = torch.tensor([[[0.0, 0.0], [1.0, 0.0], [1.0, 2.0]]])
    wanted = torch.tensor([behind * 1.0, ahead * 2.0])
    found = tangents(path, torch.tensor([energies]).float())[0, 0]
    torch.testing.assert_close(found, wanted / wanted.norm())


def test_pivots_are_added_where_the_energy_rises_above_the_line_between_two() -> None:
    """A slope has no such place, however steep; bumps at 0.33 and, lower, at 0.84 are two."""

    def energy(points: Tensor) -> Tensor:
        x = points[:, 0]
        bumps = torch.exp(-(((x - 0.33) / 0.02) ** 2)) + 0.5 * torch.exp(
            -(((x - 0.84) / 0.02) ** 2)
        )
        return bumps + 50 * x

    places = torch.linspace(0, 1, 5).double()[None]
    path = torch.stack([places, torch.zeros_like(places)], 2)
    for count, added in ((1, [0.325]), (2, [0.325, 0.85])):
        more, finer = with_more(energy, path, places, count)
        wanted = sorted([0, 0.25, 0.5, 0.75, 1, *added])
        np.testing.assert_allclose(more[0, :, 0], wanted, atol=1e-12)
        np.testing.assert_allclose(finer[0], wanted, atol=1e-12)
