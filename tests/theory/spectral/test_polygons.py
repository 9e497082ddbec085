"""The Fourier transform of a ReLU network of the plane, over all its linear regions: what Lemma 3.1
of the paper on spectral bias says of it, tried on a trained network.

A network that is continuous and zero outside a bounded set has (the lemma, sign corrected)

    f~(k) = int f(x) exp(-i k x) dx = -i sum_P (w_P k) / |k|^2 1~_P(k)

over its regions P, polygons on which f(x) = w_P x + c_P. The indicator of a polygon, and of each
edge in turn, is a sum over what bounds it (Diaz et al. 2016):

    1~_P(k) = i sum_edges (k N_e) / |k|^2 e~(k),
    e~(k) = i sum_ends +-1 / (k t) exp(-i k v),   or |e| exp(-i k v) where k t = 0,

N_e the outward normal and t the direction of an edge. So 1~_P falls as |k|^-2, but as |k|^-1 across
an edge, and f~ one power faster.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from numpy.typing import ArrayLike, NDArray
from torch import nn

from ntkexp.probes.linear_pieces import layers_of
from ntkexp.theory.float64 import Array, array
from ntkexp.theory.spectral.piecewise import Layers

REACH, SLOPE, HALF = 1.0, 8.0, 1.5
Complex = NDArray[np.complex128]
# Shorter edges and distances than this are rounding.
NEAR = 1e-12


def indicator_transform(corners: ArrayLike, k: ArrayLike) -> Complex:
    """(...,): 1~_P of a convex polygon, `corners` (m, 2) anticlockwise, at k (..., 2), not 0."""
    v, w = array(corners), array(k)
    sides = np.roll(v, -1, axis=0) - v
    lengths = np.linalg.norm(sides, axis=1)
    total = np.zeros(w.shape[:-1], dtype=np.complex128)
    for start, side, length in zip(v, sides, lengths, strict=True):
        if length > NEAR:
            tangent = side / length
            normal = np.array([tangent[1], -tangent[0]])
            total += (w @ normal) * _edge(start, tangent, length, w)
    return np.asarray(1j * total / (w**2).sum(-1))


def _edge(start: Array, tangent: Array, length: float, k: Array) -> Complex:
    """e~ of an edge: its middle's phase times length sinc, which holds where k t = 0 as well."""
    middle = np.exp(-1j * (k @ (start + tangent * length / 2)))
    return np.asarray(length * middle * np.sinc((k @ tangent) * length / (2 * np.pi)))


@dataclass(frozen=True)
class Region:
    """A convex polygon, `corners` (m, 2) anticlockwise, on which some functions are affine: their
    values are `x @ W.T + b` for W (q, 2) and b (q,)."""

    corners: Array
    W: Array
    b: Array

    def split(self, w: Array, c: float) -> Iterator[Region]:
        """The parts where w x + c is positive and negative, those that have an area."""
        heights = self.corners @ w + c
        if heights.min() >= -NEAR or heights.max() <= NEAR:
            yield self
            return
        for sign in (1, -1):
            if (corners := _clipped(self.corners, sign * heights)) is not None:
                yield Region(corners, self.W, self.b)

    @property
    def centre(self) -> Array:
        return array(self.corners.mean(axis=0))

    def then(self, W: Array, b: Array) -> Region:
        """This polygon with the functions y -> W y + b of those that it has."""
        return Region(self.corners, W @ self.W, W @ self.b + b)


def _clipped(corners: Array, heights: Array) -> Array | None:
    """The part of a convex polygon where a function, affine between corners, is above 0."""
    kept: list[Array] = []
    for corner, following, a, b in zip(
        *(corners, np.roll(corners, -1, axis=0), heights, np.roll(heights, -1)), strict=True
    ):
        if a >= 0:
            kept.append(corner)
        if (a > 0 > b) or (a < 0 < b):
            kept.append(corner + (following - corner) * a / (a - b))
    if len(kept) < 3:
        return None
    polygon = array(np.array(kept))
    x, y = (polygon - polygon[0]).T
    area = abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1))) / 2
    return polygon if area > NEAR else None


def square(half_width: float) -> Region:
    """[-a, a]^2, with its two coordinates as the functions."""
    a = half_width
    corners = np.array([[-a, -a], [a, -a], [a, a], [-a, a]])
    return Region(corners, np.eye(2), np.zeros(2))


def rectified(regions: Sequence[Region]) -> list[Region]:
    """Every function's ReLU: regions are cut where a function changes its sign."""
    functions = len(regions[0].b)
    for number in range(functions):
        regions = [part for r in regions for part in r.split(r.W[number], float(r.b[number]))]
    return [_open(r) for r in regions]


def _open(region: Region) -> Region:
    gates = (region.W @ region.centre + region.b > 0).astype(float)
    return Region(region.corners, gates[:, None] * region.W, gates * region.b)


def network_regions(layers: Layers, region: Region) -> list[Region]:
    """The regions of a ReLU network inside a region whose functions are the coordinates."""
    regions = [region]
    for W, b in layers[:-1]:
        regions = rectified([part.then(W, b) for part in regions])
    W, b = layers[-1]
    return [part.then(W, b) for part in regions]


def made_zero_outside(
    layers: Layers, reach: float, slope: float, half_width: float
) -> list[Region]:
    """The regions of relu(f+ - C d) - relu(f- - C d), with f+ and f- the positive and negative part
    of a network f, d = max(|x|_inf - r, 0), r = `reach` and C = `slope`.

    It is f for |x|_inf <= r, a ReLU network again, and zero at the edge of the square
    [-a, a]^2 if C (a - r) is at least max |f| there.
    """
    regions = [
        Region(region.corners, np.vstack([region.W, np.eye(2)]), np.append(region.b, [0.0, 0.0]))
        for region in network_regions(layers, square(half_width))
    ]
    # f, x, y -> f+, f-, |x|, |y| by four ReLUs of +- each.
    signs = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]])
    regions = rectified([region.then(signs.astype(float), np.zeros(6)) for region in regions])
    sums = np.array([[1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0],
                     [0, 0, 1, 1, -1, -1], [0, 0, -1, -1, 1, 1]], dtype=float)  # fmt: skip
    # f+, f-, |x|, relu(|x| - |y|), relu(|y| - |x|); the largest of |x| and |y| is |x| + the last.
    regions = rectified([region.then(sums, np.zeros(5)) for region in regions])
    rows = np.array([[1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 1, 0, 1]], dtype=float)
    regions = rectified([region.then(rows, np.array([0, 0, -reach])) for region in regions])
    cuts = np.array([[1, 0, -slope], [0, 1, -slope]])
    regions = rectified([region.then(cuts, np.zeros(2)) for region in regions])
    return [region.then(np.array([[1.0, -1.0]]), np.zeros(1)) for region in regions]


def transform(regions: Sequence[Region], k: ArrayLike) -> Complex:
    """f~(k) at k (..., 2), not 0, of a function that is continuous and zero where they end."""
    w = array(k)
    total = np.zeros(w.shape[:-1], dtype=np.complex128)
    for region in regions:
        if np.any(region.W):
            total += (w @ region.W[0]) * indicator_transform(region.corners, w)
    return np.asarray(-1j * total / (w**2).sum(-1))


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
