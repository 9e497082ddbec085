"""The normalisation of the spectrum."""

from __future__ import annotations

import numpy as np
import pytest

from ntkexp.theory.spectral.dft import coefficients, grid, sines


@pytest.mark.parametrize(("k", "amplitude", "phase"), [(5, 1.0, 0.3), (50, 0.1, 2.0), (99, 3, 0)])
def test_a_sine_has_its_amplitude_at_its_frequency_and_nothing_elsewhere(
    k: int, amplitude: float, phase: float
) -> None:
    found = np.abs(coefficients(sines(grid(200), [k], [amplitude], [phase])))
    assert found[k] == pytest.approx(amplitude, abs=1e-12)
    assert np.delete(found, k).max() < 1e-12


def test_with_the_end_of_the_interval_on_the_grid_a_sine_leaks() -> None:
    found = np.abs(coefficients(np.sin(2 * np.pi * 5 * np.linspace(0, 1, 200))))
    assert np.delete(found, 5).max() > 1e-3


def test_the_spectrum_of_a_delta_is_flat() -> None:
    """1/N for a unit delta: 0.005 with 200 points. Coefficients are twice that."""
    delta = np.zeros(200)
    delta[100] = 1
    assert np.abs(coefficients(delta)) / 2 == pytest.approx(np.full(101, 0.005))


def test_white_noise_has_a_flat_spectrum_on_average() -> None:
    noise = np.random.default_rng(0).standard_normal((4000, 64))
    power = (np.abs(coefficients(noise)) ** 2).mean(0)[1:-1]
    assert power == pytest.approx(np.full(31, 4 / 64), rel=0.1)


def test_the_mean_square_is_half_the_sum_of_squared_amplitudes() -> None:
    """Parseval, for a signal without mean and without N/2."""
    f = sines(grid(200), [5, 17, 60], [1.0, 0.5, 0.2], [0.1, 0.2, 0.3])
    assert (f**2).mean() == pytest.approx((np.abs(coefficients(f)) ** 2).sum() / 2)
