from __future__ import annotations

import numpy as np
import pytest

from ntkexp.theory import supernat
from ntkexp.theory.supernat import Kappa, Loss

BOUNDED = (Kappa.grad_norm, Kappa.grad_max, Kappa.const)


def problem(seed: int, n: int = 12, P: int = 5) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    return generator.normal(size=(n, P)), generator.normal(size=n)


def test_options_are_typed_in_the_words_of_the_pages() -> None:
    assert [*Kappa] == ["grad_norm", "grad_max", "const", "none"]
    assert [*Loss] == ["mean", "half_sum"]


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


def test_reparametrising_leaves_the_predictions_of_the_gradient_step_unchanged() -> None:
    features, y = problem(1)
    eta, state = 0.01, supernat.explicit_start(features)
    for _ in range(5):
        gradient = state.features @ state.weights - y
        stepped = state.weights - eta * state.features.T @ gradient
        after = supernat.explicit_step(state, y, eta, Kappa.grad_norm)
        np.testing.assert_allclose(
            after.features @ after.weights, state.features @ stepped, rtol=1e-12, atol=1e-12
        )
        state = after


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


@pytest.mark.parametrize("kind", BOUNDED)
def test_ratios_of_eigenvalues_are_rescaled_by_the_signal_to_noise_ratio(
    kind: Kappa,
) -> None:
    residual, eigs = np.array([3.0, -0.5]), np.array([2.0, 1.0])
    after = supernat.supernat_step(residual, eigs, 0.1, kind)[1]
    assert after[0] / after[1] == pytest.approx(2.0 * 3.0 / 0.5, rel=1e-12)


def test_seeds_are_independent_rows() -> None:
    generator = np.random.default_rng(3)
    residual, eigs = generator.normal(size=(4, 6)), generator.uniform(0.1, 1, size=(4, 6))
    together = supernat.supernat_step(residual, eigs, 0.1, Kappa.grad_norm)
    alone = supernat.supernat_step(residual[2], eigs[2], 0.1, Kappa.grad_norm)
    np.testing.assert_array_equal(together[0][2], alone[0])
    np.testing.assert_array_equal(together[1][2], alone[1])
