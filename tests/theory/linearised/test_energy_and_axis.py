"""Energy concentration and the one axis, on cases whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from ntkexp.theory.linearised.energy import energy_concentration
from ntkexp.theory.linearised.one_axis import one_axis

RNG = np.random.default_rng(0)
VECTORS = np.linalg.qr(RNG.normal(size=(400, 400)))[0]


def test_energy_grows_with_the_eigenvectors_to_one() -> None:
    """T7 of the paper's inventory."""
    labels = np.sign(RNG.normal(size=400))
    energies = [energy_concentration(VECTORS[:, :k], labels) for k in (1, 10, 50, 200, 400)]
    assert energies == sorted(energies) and energies[-1] == pytest.approx(1)
    # A parallel vector has all of its energy in one.
    assert energy_concentration(VECTORS[:, :1], -3 * VECTORS[:, 0]) == pytest.approx(1)


def test_random_labels_have_the_share_of_dimensions() -> None:
    squares = [
        energy_concentration(VECTORS[:, :20], np.sign(RNG.normal(size=400))) ** 2
        for _ in range(500)
    ]
    assert np.mean(squares) == pytest.approx(20 / 400, rel=0.1)


def spd(size: int) -> np.ndarray:
    a = RNG.normal(size=(size, size))
    return a @ a.T


def test_a_kernel_that_has_changed_along_one_axis_is_explained_whole() -> None:
    first, c = spd(30), RNG.normal(size=30)
    fit = one_axis(1.5 * first + 40 * np.outer(c, c), first, c)
    assert fit.scale == pytest.approx(1.5) and fit.axis == pytest.approx(40)
    assert fit.r_squared == pytest.approx(1)
    # Neither a factor alone nor another task's axis does it.
    assert one_axis(1.5 * first + 40 * np.outer(c, c), first).r_squared < 0.9
    other = one_axis(1.5 * first + 40 * np.outer(c, c), first, RNG.normal(size=30))
    assert other.r_squared < 0.9


def test_it_is_the_least_squares_fit_whatever_the_units() -> None:
    last, first, c = spd(12), 1e6 * spd(12), 1e-3 * RNG.normal(size=12)
    fit = one_axis(last, first, c)
    design = np.stack([first.ravel(), np.outer(c, c).ravel()], 1)
    best = np.linalg.lstsq(design, last.ravel(), rcond=1e-30)[0]
    rest = np.linalg.norm(last.ravel() - design @ best) ** 2 / np.linalg.norm(last) ** 2
    assert fit.r_squared == pytest.approx(1 - rest, rel=1e-9)
