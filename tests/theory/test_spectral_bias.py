from __future__ import annotations

import numpy as np

from ntkexp.theory.spectrum import eigenpairs, mode_updates


def test_lemma_1_is_exact_where_the_function_is_linear_in_its_weights() -> None:
    generator = np.random.default_rng(0)
    phi, w, y = generator.normal(size=(6, 9)), generator.normal(size=9), generator.normal(size=6)
    eigs, U = eigenpairs(phi @ phi.T)
    gradient, eta = phi @ w - y, 0.01
    change = phi @ (w - eta * phi.T @ gradient) - phi @ w
    np.testing.assert_allclose(mode_updates(eigs, U, gradient, eta), U.T @ change, atol=1e-12)


def test_lemma_1_errs_by_the_square_of_the_learning_rate_on_a_curved_function() -> None:
    """f(w) = tanh(Phi w) and L = |f - y|^2 / 2: slope 2 in log-log."""
    generator = np.random.default_rng(1)
    phi, w, y = generator.normal(size=(5, 8)), 0.3 * generator.normal(size=8), np.ones(5)
    outputs = np.tanh(phi @ w)
    features = (1 - outputs**2)[:, None] * phi
    eigs, U = eigenpairs(features @ features.T)
    gradient = outputs - y
    etas = np.array([1e-2, 1e-3, 1e-4])
    errors = []
    for eta in etas:
        change = np.tanh(phi @ (w - eta * features.T @ gradient)) - outputs
        errors.append(np.linalg.norm(U.T @ change - mode_updates(eigs, U, gradient, eta)))
    slopes = np.diff(np.log(errors)) / np.diff(np.log(etas))
    np.testing.assert_allclose(slopes, 2.0, atol=0.05)
