"""Eigenvectors of a Gaussian kernel as frequencies."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from ntkexp.studies.kernel_sinusoids import KernelSinusoids
from ntkexp.theory.spectral.kernel_basis import basis, eigenvectors, gaussian_kernel


def test_the_kernel_has_no_factor_two() -> None:
    x = np.random.default_rng(0).standard_normal((20, 5))
    expected = np.exp(-(cdist(x, x) ** 2) / 1.7**2)
    assert gaussian_kernel(x, 1.7) == pytest.approx(expected, abs=1e-12)


def test_eigenvectors_are_a_basis_from_the_largest_eigenvalue_on() -> None:
    kernel = gaussian_kernel(np.random.default_rng(0).standard_normal((20, 5)), 2.0)
    values, vectors = eigenvectors(kernel)
    assert np.all(np.diff(values) <= 0)
    assert vectors.T @ vectors == pytest.approx(np.eye(20), abs=1e-12)
    assert vectors @ np.diag(values) @ vectors.T == pytest.approx(kernel, abs=1e-12)
    assert all(column[np.abs(column).argmax()] > 0 for column in vectors.T)
    f = np.arange(20.0)
    # Parseval: the energy of the coefficients is that of the function.
    assert ((vectors.T @ f) ** 2).sum() == pytest.approx((f**2).sum())


def test_the_width_of_a_basis_is_in_median_distances() -> None:
    """The distances of 0, 1 and 5 are 1, 4 and 5; their mean is not 4."""
    x = np.array([[0.0], [1.0], [5.0]])
    vectors = basis(x, 0.5)
    turned = vectors.T @ np.exp(-(cdist(x, x) ** 2) / (0.5 * 4) ** 2) @ vectors
    values = np.diag(turned)
    assert turned == pytest.approx(np.diag(values), abs=1e-12)
    assert np.all(np.diff(values) < 0)


def test_frequency_rises_with_the_number_and_a_wide_kernel_ends_in_rounding() -> None:
    def order(sigma: float) -> float:
        spectra = KernelSinusoids(sigma=sigma).run()["kernel_spectra"]
        peaks = spectra.loc[spectra.groupby("n")["magnitude"].idxmax()]
        return float(np.corrcoef(peaks["n"], peaks["k"])[0, 1])

    assert order(0.05) > 0.99
    assert order(0.5) < 0.9
