from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from ntkexp.theory import supernat
from ntkexp.theory.linear_regression import min_norm_solution
from ntkexp.theory.rademacher import bound, rescaled_kernel

RANDOM = settings(derandomize=True, deadline=None, max_examples=40)


def problem(seed: int, n: int = 5, P: int = 8) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    return generator.normal(size=(n, P)), generator.normal(size=n)


def minimised(objective: Callable[[np.ndarray], float], size: int) -> float:
    """The least of `objective(nu)` over nu > 0, found numerically in log nu."""
    found = optimize.minimize(
        lambda logs: np.log(objective(np.exp(logs))), np.zeros(size), tol=1e-12
    )
    return float(np.exp(found.fun))


def test_the_rescaling_matrix_divides_the_eigenvalues_and_keeps_the_vectors() -> None:
    features, _ = problem(0)
    U, s, Vt = np.linalg.svd(features, full_matrices=False)
    nu = np.array([0.5, 2.0, 1.0, 3.0, 0.1])
    rescaled = np.linalg.solve(supernat.rescaling_matrix(nu, Vt.T), features.T).T
    np.testing.assert_allclose(rescaled, (U * (s / np.sqrt(nu))) @ Vt, atol=1e-12)


def test_the_rescaling_matrix_is_the_identity_off_the_features() -> None:
    features, _ = problem(1)
    Vt = np.linalg.svd(features)[2]
    A = supernat.rescaling_matrix([2.0] * 5, Vt[:5].T)
    np.testing.assert_allclose(A @ Vt[5:].T, Vt[5:].T, atol=1e-12)


def test_the_solution_bound_is_bound_10_of_the_minimum_norm_interpolator() -> None:
    features, y = problem(2)
    U, s, Vt = np.linalg.svd(features, full_matrices=False)
    nu = np.array([0.5, 2.0, 1.0, 3.0, 0.1])
    A = supernat.rescaling_matrix(nu, Vt.T)
    radius = float(np.linalg.norm(A.T @ min_norm_solution(features, y)))
    by_matrices = len(y) * bound(rescaled_kernel(features, A), radius)
    assert supernat.solution_bound(nu, s**2, U.T @ y) == pytest.approx(by_matrices, rel=1e-12)


@RANDOM
@given(seed=st.integers(0, 10_000))
def test_proposition_14_is_the_optimum(seed: int) -> None:
    features, y = problem(seed)
    U, s, _ = np.linalg.svd(features, full_matrices=False)
    eigs, Uy = s**2, U.T @ y
    least = supernat.least_solution_bound(Uy)
    nu = supernat.optimal_for_solution(eigs, Uy, kappa=3.7)
    assert supernat.solution_bound(nu, eigs, Uy) == pytest.approx(least, rel=1e-12)
    found = minimised(lambda nu: supernat.solution_bound(nu, eigs, Uy), len(eigs))
    assert found == pytest.approx(least, rel=1e-5)
    assert found >= least * (1 - 1e-12)


def test_no_random_rescaling_beats_propositions_14_and_3() -> None:
    generator = np.random.default_rng(3)
    eigs, projections = generator.uniform(0.1, 2.0, size=6), generator.normal(size=6)
    for nu in generator.lognormal(sigma=2.0, size=(500, 6)):
        assert supernat.solution_bound(nu, eigs, projections) >= (
            supernat.least_solution_bound(projections)
        )
        assert supernat.update_bound(nu, eigs, projections) >= (
            supernat.least_update_bound(eigs, projections)
        )


def test_the_update_bound_is_step_2_of_the_algorithm_in_matrices() -> None:
    features, y = problem(4)
    U, s, Vt = np.linalg.svd(features, full_matrices=False)
    gradient, eta = -y, 0.3
    update = -eta * features.T @ gradient
    nu = np.array([0.5, 2.0, 1.0, 3.0, 0.1])
    A = supernat.rescaling_matrix(nu, Vt.T)
    norm = np.linalg.norm(A.T @ update) * np.linalg.norm(np.linalg.solve(A, features.T))
    assert supernat.update_bound(nu, s**2, U.T @ gradient, eta) == pytest.approx(norm, rel=1e-12)


@RANDOM
@given(seed=st.integers(0, 10_000))
def test_propositions_3_and_15_are_the_optimum(seed: int) -> None:
    generator = np.random.default_rng(seed)
    eigs, Ug = generator.uniform(0.1, 2.0, size=5), generator.normal(size=5)
    least = supernat.least_update_bound(eigs, Ug, eta=0.2)
    nu = supernat.optimal_for_update(Ug, kappa=0.4)
    assert supernat.update_bound(nu, eigs, Ug, eta=0.2) == pytest.approx(least, rel=1e-12)
    found = minimised(lambda nu: supernat.update_bound(nu, eigs, Ug, 0.2), len(eigs))
    assert found == pytest.approx(least, rel=1e-5)
    assert found >= least * (1 - 1e-12)


def test_the_scaled_spectrum_goes_from_white_to_itself() -> None:
    eigs = np.array([5.0, 1.0, 0.1])
    np.testing.assert_array_equal(supernat.scaled_spectrum(eigs, 0.0), np.ones(3))
    np.testing.assert_allclose(supernat.scaled_spectrum(eigs, 1.0), eigs, rtol=1e-14)


def test_scaling_the_spectrum_of_complete_features_mixes_in_the_identity() -> None:
    """K_c = (1 - c) I + c K on any subsample, so its eigenvectors do not depend on c."""
    features = np.random.default_rng(5).normal(size=(12, 12))
    psi, s, _ = np.linalg.svd(features)
    rows, c = [0, 3, 7, 8], 0.6
    K_c = (psi[rows] * supernat.scaled_spectrum(s**2, c)) @ psi[rows].T
    K = features[rows] @ features[rows].T
    np.testing.assert_allclose(K_c, (1 - c) * np.eye(4) + c * K, atol=1e-12)
