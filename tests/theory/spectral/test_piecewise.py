"""Exact pieces of networks of one input, and their transform, beside quadrature and dense grids."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from ntkexp.theory.spectral.lipschitz import max_norm_bound, power_iteration, product_bound
from ntkexp.theory.spectral.piecewise import Layers, Pieces, pieces


def network(seed: int, depth: int = 3, width: int = 8, gain: float = 2.0) -> Layers:
    draws = np.random.default_rng(seed)
    sizes = [1, *[width] * depth, 1]
    return [
        (gain * draws.standard_normal((o, i)) / np.sqrt(i), draws.standard_normal(o) / 2)
        for i, o in pairwise(sizes)
    ]


def value(layers: Layers, x: float) -> float:
    h = np.array([x])
    for W, b in layers[:-1]:
        h = np.maximum(W @ h + b, 0)
    W, b = layers[-1]
    return float((W @ h + b)[0])


def pattern(layers: Layers, x: float) -> tuple[bool, ...]:
    h, signs = np.array([x]), list[bool]()
    for W, b in layers[:-1]:
        h = W @ h + b
        signs += (h > 0).tolist()
        h = np.maximum(h, 0)
    return tuple(signs)


@pytest.mark.parametrize("seed", range(4))
def test_pieces_are_the_network(seed: int) -> None:
    layers = network(seed)
    found = pieces(layers)
    for x in np.linspace(0, 1, 301):
        interpolated = np.interp(x, found.x, found.values)
        assert interpolated == pytest.approx(value(layers, x), abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_a_region_is_an_activation_pattern(seed: int) -> None:
    """Inside a piece no unit changes its side, from a piece to the next one some unit does."""
    layers = network(seed)
    x = pieces(layers).x
    inside = [
        {pattern(layers, a + share * (b - a)) for share in (1e-3, 0.5, 1 - 1e-3)}
        for a, b in pairwise(x)
        if b - a > 1e-9
    ]
    assert all(len(patterns) == 1 for patterns in inside)
    assert all(one != other for one, other in pairwise(inside))
    assert len(inside) > 4


@pytest.mark.parametrize("k", [0.7, 2 * np.pi, 40.0])
def test_the_transform_is_that_of_quadrature(k: float) -> None:
    found = pieces(network(1))

    def f(x: float) -> float:
        return float(np.interp(x, found.x, found.values))

    pairs = list(pairwise(found.x))
    real = sum(quad(lambda x: f(x) * np.cos(k * x), a, b)[0] for a, b in pairs)
    imaginary = sum(quad(lambda x: -f(x) * np.sin(k * x), a, b)[0] for a, b in pairs)
    assert found.transform([k])[0] == pytest.approx(complex(real, imaginary), abs=1e-9)


def test_kinks_fall_as_the_square_and_jumps_hide_them() -> None:
    found = pieces(network(2))
    k = 2 * np.pi * np.arange(1, 4000) + 1.0
    turns = np.abs(np.diff([0.0, *found.slopes, 0.0])).sum()
    assert np.all(np.abs(found.kinks(k)) * k**2 <= turns * (1 + 1e-9))
    tail = slice(3000, None)
    assert np.abs(found.kinks(k))[tail].max() < 0.1 * np.abs(found.jumps(k))[tail].max()


def test_a_function_that_is_zero_at_both_ends_has_no_jumps() -> None:
    """The hat: the printed lemma has the opposite sign."""
    hat = Pieces(np.array([0.0, 0.5, 1.0]), np.array([0.0, 1.0, 0.0]))
    k = np.array([1.0, 3.0, 11.0])
    exact = 2 * np.exp(-0.5j * k) * 2 * (1 - np.cos(k / 2)) / k**2
    assert np.abs(hat.jumps(k)).max() == 0
    assert hat.transform(k) == pytest.approx(exact)


@pytest.mark.parametrize("seed", range(4))
def test_the_chain_of_bounds(seed: int) -> None:
    layers = network(seed)
    weights = [W for W, _ in layers]
    slope = pieces(layers).lipschitz
    assert slope <= product_bound(weights) <= max_norm_bound(weights)


@pytest.mark.parametrize("seed", range(4))
def test_power_iterations_come_from_below(seed: int) -> None:
    W = np.random.default_rng(seed).standard_normal((20, 12))
    exact = float(np.linalg.norm(W, 2))
    few, many = power_iteration(W), power_iteration(W, 1000)
    assert 0.8 * exact < few <= exact * (1 + 1e-12)
    assert many == pytest.approx(exact)


@pytest.mark.filterwarnings("error")
def test_a_layer_of_zeros_has_norm_zero() -> None:
    assert power_iteration(np.zeros((2, 3))) == 0


def made_zero_at_the_ends(layers: Layers) -> Pieces:
    """f less the line through its ends."""
    found = pieces(layers)
    line = found.values[0] + found.x * (found.values[-1] - found.values[0])
    return Pieces(found.x, found.values - line)


def test_the_gradient_falls_one_power_more_slowly_than_the_transform() -> None:
    """Equation (9) with Delta = 1: f~ = O(k^-2) and df~/dtheta = O(k^-1), no less."""
    layers = network(3, depth=2, width=12)
    k = 2 * np.pi * np.arange(1, 257) + 1.0
    step = 1e-7

    def nudged(by: float) -> Pieces:
        (W, b), *others = layers
        return made_zero_at_the_ends([(W, b + by * (np.arange(len(b)) == 4)), *others])

    gradient = np.abs(nudged(step).transform(k) - nudged(-step).transform(k)) / (2 * step)
    values = np.abs(made_zero_at_the_ends(layers).transform(k))
    low, high = slice(16, 32), slice(128, 256)
    # The largest of an octave: between zeros of the oscillation the envelope shows.
    falls = {name: f[low].max() / f[high].max() for name, f in [("f", values), ("df", gradient)]}
    assert 30 < falls["f"] < 130
    assert 4 < falls["df"] < 16
