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
from ntkexp.theory.supernat import Kappa, Loss


def problem(seed: int, n: int = 12, P: int = 5) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    return generator.normal(size=(n, P)), generator.normal(size=n)


@pytest.mark.parametrize("kind", Kappa)
@pytest.mark.parametrize(("n", "P"), [(12, 5), (4, 7)])
def test_the_modes_are_the_algorithm_written_in_matrices(kind: Kappa, n: int, P: int) -> None:
    features, y = problem(0, n, P)
    U, s, _ = np.linalg.svd(features, full_matrices=False)
    eigs, residual = s**2, -U.T @ y
    eta, state = 0.1 / eigs[0], supernat.explicit_start(features)
    for _ in range(4 if kind is Kappa.none else 12):
        np.testing.assert_allclose(
            U.T @ (state.features @ state.weights - y), residual, rtol=1e-10, atol=1e-10
        )
        kernel = state.features @ state.features.T
        np.testing.assert_allclose(kernel, (U * eigs) @ U.T, rtol=1e-10, atol=1e-10)
        state = supernat.explicit_step(state, y, eta, kind)
        residual, eigs = supernat.supernat_step(residual, eigs, eta, kind)


def test_the_features_are_the_original_ones_under_the_product_of_rescalings() -> None:
    features, y = problem(2)
    state = supernat.explicit_start(features)
    for _ in range(5):
        state = supernat.explicit_step(state, y, 0.01, Kappa.grad_max)
    rescaled = np.linalg.solve(state.rescaling, features.T).T
    np.testing.assert_allclose(state.features, rescaled, atol=1e-11)


def test_what_each_kappa_does_to_the_largest_eigenvalue() -> None:
    residual, eigs = np.array([[3.0, -4.0, 0.0]]), np.array([[2.0, 1.0, 0.5]])
    after = {kind: supernat.supernat_step(residual, eigs, 0.1, kind)[1][0] for kind in Kappa}
    np.testing.assert_allclose(after["grad_norm"], [2 * 3 / 5, 4 / 5, 0.0])
    np.testing.assert_allclose(after["grad_max"], [2 * 3 / 4, 1.0, 0.0])
    np.testing.assert_allclose(after["const"], [2.0, 2 * 4 / 6, 0.0])
    np.testing.assert_allclose(after["none"], [6.0, 4.0, 0.0])


@pytest.mark.parametrize("kind", Kappa)
def test_the_scale_of_the_loss_matters_to_equation_17_to_the_letter_alone(kind: Kappa) -> None:
    residual, eigs = np.array([3.0, -4.0]), np.array([2.0, 1.0])
    scale = Loss.mean.gradient_over_residual(50)
    one, other = (supernat.supernat_step(residual, eigs, 0.1, kind, s)[1] for s in (1.0, scale))
    factor = scale if kind is Kappa.none else 1.0
    np.testing.assert_allclose(other, factor * one, rtol=1e-12)


def test_the_gradient_of_each_loss_is_that_multiple_of_the_residual() -> None:
    f, y, step = np.array([1.0, 2.0, 4.0]), np.array([0.5, 2.5, 1.0]), 1e-6
    losses = {
        Loss.mean: lambda g: np.mean((g - y) ** 2),
        Loss.half_sum: lambda g: sum((g - y) ** 2) / 2,
    }
    for kind, loss in losses.items():
        gradient = [(loss(f + step * e) - loss(f - step * e)) / (2 * step) for e in np.eye(3)]
        expected = kind.gradient_over_residual(3) * (f - y)
        np.testing.assert_allclose(gradient, expected, rtol=1e-6)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", [kind for kind in Kappa if kind is not Kappa.none])
def test_a_gradient_of_zero_leaves_the_kernel_as_it_is(kind: Kappa) -> None:
    """Of one regression that is learnt to the last digit, beside one that is not."""
    residual, eigs = np.array([[0.0, 0.0], [3.0, -4.0]]), np.array([[2.0, 1.0], [2.0, 1.0]])
    after = supernat.supernat_step(residual, eigs, 0.1, kind)
    np.testing.assert_array_equal(after[0][0], [0.0, 0.0])
    np.testing.assert_array_equal(after[1][0], [2.0, 1.0])
    alone = supernat.supernat_step(residual[1], eigs[1], 0.1, kind)
    np.testing.assert_array_equal(after[1][1], alone[1])


def test_seeds_are_independent_rows() -> None:
    generator = np.random.default_rng(3)
    residual, eigs = generator.normal(size=(4, 6)), generator.uniform(0.1, 1, size=(4, 6))
    together = supernat.supernat_step(residual, eigs, 0.1, Kappa.grad_norm)
    alone = supernat.supernat_step(residual[2], eigs[2], 0.1, Kappa.grad_norm)
    np.testing.assert_array_equal(together[0][2], alone[0])
    np.testing.assert_array_equal(together[1][2], alone[1])


RANDOM = settings(derandomize=True, deadline=None, max_examples=40)


def minimised(objective: Callable[[np.ndarray], float], size: int) -> float:
    """The least of `objective(nu)` over nu > 0, found numerically in log nu."""
    found = optimize.minimize(
        lambda logs: np.log(objective(np.exp(logs))), np.zeros(size), tol=1e-12
    )
    return float(np.exp(found.fun))


def test_the_rescaling_matrix_divides_the_eigenvalues_and_keeps_the_vectors() -> None:
    features, _ = problem(0, 5, 8)
    U, s, Vt = np.linalg.svd(features, full_matrices=False)
    nu = np.array([0.5, 2.0, 1.0, 3.0, 0.1])
    rescaled = np.linalg.solve(supernat.rescaling_matrix(nu, Vt.T), features.T).T
    np.testing.assert_allclose(rescaled, (U * (s / np.sqrt(nu))) @ Vt, atol=1e-12)


def test_the_rescaling_matrix_is_the_identity_off_the_features() -> None:
    features, _ = problem(1, 5, 8)
    Vt = np.linalg.svd(features)[2]
    A = supernat.rescaling_matrix([2.0] * 5, Vt[:5].T)
    np.testing.assert_allclose(A @ Vt[5:].T, Vt[5:].T, atol=1e-12)


def test_the_solution_bound_is_bound_10_of_the_minimum_norm_interpolator() -> None:
    features, y = problem(2, 5, 8)
    U, s, Vt = np.linalg.svd(features, full_matrices=False)
    nu = np.array([0.5, 2.0, 1.0, 3.0, 0.1])
    A = supernat.rescaling_matrix(nu, Vt.T)
    radius = float(np.linalg.norm(A.T @ min_norm_solution(features, y)))
    by_matrices = len(y) * bound(rescaled_kernel(features, A), radius)
    assert supernat.solution_bound(nu, s**2, U.T @ y) == pytest.approx(by_matrices, rel=1e-12)


@RANDOM
@given(seed=st.integers(0, 10_000))
def test_proposition_14_is_the_optimum(seed: int) -> None:
    features, y = problem(seed, 5, 8)
    U, s, _ = np.linalg.svd(features, full_matrices=False)
    eigs, Uy = s**2, U.T @ y
    least = np.abs(Uy).sum()
    nu = supernat.optimal_for_solution(eigs, Uy, kappa=3.7)
    assert supernat.solution_bound(nu, eigs, Uy) == pytest.approx(least, rel=1e-12)
    found = minimised(lambda nu: supernat.solution_bound(nu, eigs, Uy), len(eigs))
    assert found == pytest.approx(least, rel=1e-5)
    assert found >= least * (1 - 1e-12)


def test_the_update_bound_is_step_2_of_the_algorithm_in_matrices() -> None:
    features, y = problem(4, 5, 8)
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
    least = 0.2 * np.sum(eigs * np.abs(Ug))
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
