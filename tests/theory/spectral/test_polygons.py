"""The transform over all regions: closed forms of polygons, quadrature of a trained network."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from ntkexp.probes.linear_pieces import layers_of
from ntkexp.theory.spectral.piecewise import Layers
from ntkexp.theory.spectral.polygons import (
    Region,
    indicator_transform,
    made_zero_outside,
    network_regions,
    square,
    transform,
)

REACH, SLOPE, HALF = 1.0, 8.0, 1.5


def side(k: float) -> complex:
    return 1.0 if k == 0 else complex((1 - np.exp(-1j * k)) / (1j * k))


@pytest.mark.parametrize("k", [(1.3, 2.1), (3.0, 0.0), (0.0, -2.0), (20.0, -7.0)])
def test_the_unit_square_in_closed_form(k: tuple[float, float]) -> None:
    corners = [[0, 0], [1, 0], [1, 1], [0, 1]]
    found = indicator_transform(corners, np.array(k))
    assert complex(found) == pytest.approx(side(k[0]) * side(k[1]), abs=1e-14)


def test_a_triangle_in_closed_form() -> None:
    """x, y >= 0 and x + y <= 1: (side(a) - exp(-i b) side(a - b)) / (i b)."""
    a, b = 2.0, 5.0
    expected = (side(a) - np.exp(-1j * b) * side(a - b)) / (1j * b)
    found = indicator_transform([[0, 0], [1, 0], [0, 1]], np.array([a, b]))
    assert complex(found) == pytest.approx(expected, abs=1e-14)


@pytest.fixture(scope="module")
def regions(layers: Layers) -> list[Region]:
    return made_zero_outside(layers, REACH, SLOPE, HALF)


@pytest.fixture(scope="module")
def layers() -> Layers:
    """A 2-16-16-1 network that has learnt where a disk is."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))
    x = 2 * torch.rand(200, 2) - 1
    y = (x.norm(dim=1, keepdim=True) < 0.7).float()
    adam = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(200):
        adam.zero_grad()
        (net(x) - y).square().mean().backward()
        adam.step()
    return layers_of(net)


def of_network(layers: Layers, points: np.ndarray) -> np.ndarray:
    h = points
    for W, b in layers[:-1]:
        h = np.maximum(h @ W.T + b, 0)
    W, b = layers[-1]
    found: np.ndarray = (h @ W.T + b)[:, 0]
    return found


def cut_off(layers: Layers, points: np.ndarray) -> np.ndarray:
    f = of_network(layers, points)
    d = SLOPE * np.maximum(np.abs(points).max(axis=1) - REACH, 0)
    cut: np.ndarray = np.maximum(np.maximum(f, 0) - d, 0) - np.maximum(np.maximum(-f, 0) - d, 0)
    return cut


def at_centres(regions: list[Region]) -> np.ndarray:
    return np.array([float((one.W @ one.centre + one.b)[0]) for one in regions])


def area(regions: list[Region]) -> float:
    x_y = [one.corners.T for one in regions]
    return sum(float(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2 for x, y in x_y)


def test_regions_fill_the_square_and_are_the_network(layers: Layers) -> None:
    regions = network_regions(layers, square(HALF))
    centres = np.array([one.centre for one in regions])
    assert len(regions) > 50
    assert area(regions) == pytest.approx(4 * HALF**2)
    assert at_centres(regions) == pytest.approx(of_network(layers, centres), abs=1e-10)


def test_the_network_made_zero_is_itself_inside_and_zero_at_the_edge(
    layers: Layers, regions: list[Region]
) -> None:
    centres = np.array([one.centre for one in regions])
    assert area(regions) == pytest.approx(4 * HALF**2)
    assert at_centres(regions) == pytest.approx(cut_off(layers, centres), abs=1e-10)
    edge = np.array([[HALF, t] for t in np.linspace(-HALF, HALF, 200)])
    assert np.abs(cut_off(layers, np.vstack([edge, -edge, edge[:, ::-1]]))).max() == 0


@pytest.mark.parametrize("k", [(2.0, 1.0), (5.0, 0.0), (-7.0, 11.0)])
def test_the_transform_is_that_of_quadrature(
    layers: Layers, regions: list[Region], k: tuple[float, float]
) -> None:
    line = HALF * ((np.arange(1200) + 0.5) / 600 - 1)
    points = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    waves = np.exp(-1j * points @ np.array(k))
    quadrature = (cut_off(layers, points) * waves).sum() * (line[1] - line[0]) ** 2
    assert complex(transform(regions, np.array(k))) == pytest.approx(quadrature, abs=2e-5)


def test_it_falls_as_the_cube_and_across_an_edge_as_the_square(regions: list[Region]) -> None:
    """The largest of an octave, from one octave to one three octaves higher. The square's sides are
    edges of regions, so its axes are directions across edges."""

    def fall(angle: float) -> float:
        direction = np.array([np.cos(angle), np.sin(angle)])
        low, high = (
            np.abs(transform(regions, np.linspace(a, 2 * a, 400)[:, None] * direction)).max()
            for a in (2000.0, 16_000.0)
        )
        return float(np.log(low / high) / np.log(8))

    assert fall(0.0) == pytest.approx(2.0, abs=0.15)
    assert fall(0.6180339) == pytest.approx(3.0, abs=0.35)
