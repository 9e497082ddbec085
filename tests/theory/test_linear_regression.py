from __future__ import annotations

import numpy as np
import pytest

from ntkexp.theory import linear_regression as theory
from ntkexp.theory.spectrum import eigenpairs


def descend(phi: np.ndarray, y: np.ndarray, w: np.ndarray, eta: float, steps: int) -> np.ndarray:
    """The weights (steps + 1, P) of plain gradient descent on |Phi w - y|^2 / 2."""
    trajectory = [w]
    for _ in range(steps):
        w = w - eta * phi.T @ (phi @ w - y)
        trajectory.append(w)
    return np.array(trajectory)


def test_equal_examples_with_different_labels_are_given_the_mean() -> None:
    """K is singular and y not in its range: the zero eigenvalue is left alone, not divided by."""
    phi = np.random.default_rng(2).normal(size=(3, 7))
    twice, y = np.vstack([phi, phi]), np.array([1.0, 2.0, 3.0, 5.0, 4.0, 3.0])
    w = theory.min_norm_solution(twice, y)
    np.testing.assert_allclose(phi @ w, [3.0, 3.0, 3.0])
    np.testing.assert_allclose(w, np.linalg.pinv(phi) @ [3.0, 3.0, 3.0])


@pytest.mark.parametrize(("n", "P"), [(6, 9), (9, 4)])
def test_proposition_7_holds_on_training_and_other_points(n: int, P: int) -> None:
    generator = np.random.default_rng(0)
    phi, y = generator.normal(size=(n, P)), generator.normal(size=n)
    everywhere = np.vstack([phi, generator.normal(size=(5, P))])
    eta = 0.5 / np.linalg.norm(phi, ord=2) ** 2
    w = descend(phi, y, generator.normal(size=P), eta, 30)
    # What gradient descent tends to: the start's own component off the features is never touched.
    w_star = w[0] + theory.min_norm_solution(phi, y - phi @ w[0])
    predicted = theory.iterate(everywhere @ phi.T, everywhere @ w[0], everywhere @ w_star, eta, 30)
    np.testing.assert_allclose(predicted, everywhere @ w[30], atol=1e-12)


def test_lemma_8_principal_components_are_eigenfunctions_on_training_and_other_points() -> None:
    generator = np.random.default_rng(3)
    phi = generator.normal(size=(6, 9))
    everywhere = np.vstack([phi, generator.normal(size=(5, 9))])
    eigs, U = eigenpairs(phi @ phi.T)
    components = everywhere @ phi.T @ U / eigs
    for eig, u in zip(eigs, components.T, strict=True):
        after = theory.iterate(everywhere @ phi.T, u, np.zeros(11), 0.01, 1)
        np.testing.assert_allclose(after, (1 - 0.01 * eig) * u, atol=1e-12)


def test_proposition_9_holds_to_rounding_in_every_mode() -> None:
    generator = np.random.default_rng(1)
    phi, y = generator.normal(size=(6, 9)), generator.normal(size=6)
    eigs, U = eigenpairs(phi @ phi.T)
    eta = 1.0 / eigs[0]
    w = descend(phi, y, phi.T @ generator.normal(size=6), eta, 60)
    measured = w @ phi.T @ U
    predicted = theory.mode_coefficients(measured[0], U.T @ y, eigs, eta, np.arange(61))
    np.testing.assert_allclose(measured, predicted, atol=1e-12)


def test_the_minimum_norm_solution_interpolates_and_is_the_kernels() -> None:
    generator = np.random.default_rng(2)
    phi, y = generator.normal(size=(5, 8)), generator.normal(size=5)
    w = theory.min_norm_solution(phi, y)
    np.testing.assert_allclose(phi @ w, y, atol=1e-12)
    np.testing.assert_allclose(w, phi.T @ np.linalg.solve(phi @ phi.T, y), atol=1e-12)


def test_a_mode_falls_by_e_in_its_time_constant_and_top_modes_come_first() -> None:
    eigs = np.array([4.0, 2.0, 0.4, 0.04])
    tau = theory.time_constants(eigs)
    assert tau[0] == 0.0
    assert np.all(np.diff(tau) > 0)
    left = (1 - eigs[1:] / eigs[0]) ** tau[1:]
    np.testing.assert_allclose(left, np.exp(-1), rtol=1e-12)


def test_a_mode_without_eigenvalue_is_never_learned() -> None:
    assert theory.time_constants([1.0, 0.0])[1] == np.inf
