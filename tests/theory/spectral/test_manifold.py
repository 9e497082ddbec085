"""Functions on curves with petals."""

from __future__ import annotations

import numpy as np
import pytest

from ntkexp.theory.spectral.dft import coefficients, grid
from ntkexp.theory.spectral.manifold import lattice, overlap, petals, radial_spectrum, speed


@pytest.mark.parametrize("L", [0, 1, 4, 20])
def test_the_curve_lies_between_two_circles(L: int) -> None:
    radius = np.linalg.norm(petals(grid(10_000), L), axis=1)
    expected = (1, 1) if L == 0 else (0.5, 1.5)
    assert (radius.min(), radius.max()) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("L", "mean", "fastest"),
    [(0, 1, 1), (4, 1.69, 2.25), (10, 3.42, 5.10), (16, 5.27, 8.06), (20, 6.51, 10.05)],
)
def test_the_speed_is_that_of_finite_differences(L: int, mean: float, fastest: float) -> None:
    z, h = grid(5000), 1e-6
    steps = petals(z + h, L) - petals(z - h, L)
    found = speed(z, L)
    assert found == pytest.approx(np.linalg.norm(steps, axis=1) / (4 * np.pi * h), rel=1e-6)
    assert (found.mean(), found.max()) == pytest.approx((mean, fastest), abs=0.01)


def test_errors_are_equal_in_the_plane_and_along_the_curve() -> None:
    """Equation (12): both are means over the same points."""
    z = grid(1000)
    target = np.sin(2 * np.pi * 7 * z)
    f = petals(z, 4) @ [0.3, -0.2]
    power = (np.abs(coefficients(f - target)[1:-1]) ** 2).sum() / 2
    rest = np.abs(coefficients(f - target)[[0, -1]]) ** 2 / 4
    assert ((f - target) ** 2).mean() == pytest.approx(power + rest.sum())


def test_the_spectrum_on_a_curve_is_an_integral_over_the_plane() -> None:
    """Equation (14), with the factor (2 pi)^-2, for f(x) = exp(-|x - c|^2 / 2)."""
    curve, c = petals(grid(64), 2), np.array([0.4, -0.3])
    line = np.linspace(-9, 9, 181)
    k = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    transform = 2 * np.pi * np.exp(-0.5 * (k**2).sum(1) - 1j * k @ c)
    P = np.fft.fft(np.exp(1j * k @ curve.T)) / 64
    area = (line[1] - line[0]) ** 2
    integral = transform @ P * area / (2 * np.pi) ** 2
    on_curve = np.fft.fft(np.exp(-0.5 * ((curve - c) ** 2).sum(1))) / 64
    assert np.abs(integral - on_curve).max() < 1e-6


@pytest.mark.parametrize("L", [0, 4, 16])
def test_a_wave_has_no_frequency_that_the_curve_is_too_slow_for(L: int) -> None:
    z = grid(4096)
    k = 2 * np.pi * 20.0
    found = overlap([k, 0.0], petals(z, L))
    fastest = k * speed(z, L).max()
    assert found[int(1.3 * fastest) :].max() < 1e-3
    assert found[: int(fastest)].max() > 0.05


def test_the_circle_gives_bessel_functions() -> None:
    from scipy.special import jv

    found = overlap([5.0, 0.0], petals(grid(256), 0))
    assert found[:10] == pytest.approx(np.abs(jv(np.arange(10), 5.0)), abs=1e-12)


def test_a_wave_that_alternates_along_the_curve_has_the_highest_frequency() -> None:
    """Eight points to and fro: four periods, n = N / 2."""
    curve = np.stack([np.pi * (np.arange(8) % 2), np.zeros(8)], axis=1)
    assert overlap([1.0, 0.0], curve) == pytest.approx([0, 0, 0, 0, 1], abs=1e-12)


def test_the_overlap_with_petals_is_a_sum_over_bessel_functions() -> None:
    """k gamma = k cos t + k / 4 (sin (L + 1) t + sin (L - 1) t) with t = 2 pi z, for k along x; the
    three waves have the Fourier series of Jacobi and Anger. Frequencies n and -n differ here."""
    from scipy.special import jv

    k, L, a, b = 6.0, 3, *np.meshgrid(np.arange(-40, 41), np.arange(-40, 41))

    def at(n: int) -> float:
        rest = n - a * (L + 1) - b * (L - 1)
        return float(np.abs((jv(a, k / 4) * jv(b, k / 4) * 1j**rest * jv(rest, k)).sum()))

    found = overlap([k, 0.0], petals(grid(256), L))
    assert found[:30] == pytest.approx([max(at(n), at(-n)) for n in range(30)], abs=1e-12)
    assert max(abs(at(n) - at(-n)) for n in range(30)) > 0.1


def test_the_radial_spectrum_of_a_bump_is_a_ring_of_its_transform() -> None:
    """exp(-|x|^2 / 2 s^2) on a square of side u has f~(k) = 2 pi (s / u)^2 exp(-2 (pi s k / u)^2),
    and a ring about 2 pi k frequencies."""
    s, u = 0.05, 2.0

    def transform(k: np.ndarray) -> np.ndarray:
        return np.asarray(2 * np.pi * (s / u) ** 2 * np.exp(-2 * (np.pi * s * k / u) ** 2))

    bump = np.exp(-(lattice(128, u / 2) ** 2).sum(1) / (2 * s**2)).reshape(128, 128)
    found = radial_spectrum(bump)
    distances = np.hypot(*np.meshgrid(np.arange(-64, 64), np.arange(-64, 64)))
    rings = [distances[np.abs(distances - k) < 0.5] for k in range(1, 64)]
    assert found == pytest.approx([transform(ring).sum() for ring in rings], abs=1e-12)
    k = np.arange(10, 21)
    assert found[9:20] == pytest.approx(2 * np.pi * k * transform(k), rel=0.2)


def test_the_radial_spectrum_of_a_wave_is_at_its_frequency() -> None:
    points = lattice(64, 1.0)
    wave = np.sin(2 * np.pi * (3 * points[:, 0] + 4 * points[:, 1]) / 2).reshape(64, 64)
    found = radial_spectrum(wave)
    # Two frequencies, +k and -k, of half the amplitude each.
    assert found[5 - 1] == pytest.approx(1.0)
    assert np.delete(found, 5 - 1).max() < 1e-12
