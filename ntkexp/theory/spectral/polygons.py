"""The Fourier transform of a ReLU network of the plane, over all its linear regions.

A network that is continuous and zero outside a bounded set has (Lemma 3.1, sign corrected)

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
from numpy.typing import ArrayLike, NDArray

from ntkexp.theory.float64 import Array, array
from ntkexp.theory.spectral.piecewise import Layers

Complex = NDArray[np.complex128]
# Shorter edges and distances than this are rounding.
NEAR = 1e-12


def indicator_transform(corners: ArrayLike, k: ArrayLike) -> Complex:
    """(...,): 1~_P of a convex polygon with `corners` (m, 2), anticlockwise, at k (..., 2), not 0.

    >>> square = [[0, 0], [1, 0], [1, 1], [0, 1]]
    >>> bool(np.isclose(indicator_transform(square, [np.pi, 0.0]), -2j / np.pi))
    True
    """
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
