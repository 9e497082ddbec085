"""Frozen kernels beside the optimisers themselves, on models that are linear in their weights."""

from __future__ import annotations

import numpy as np
import pytest

from ntkexp.theory.spectral.replay import Step, edge, label_score, replay

DRAWS = np.random.default_rng(0)
PHI = DRAWS.standard_normal((6, 9))
START = DRAWS.standard_normal(6)
RATE = 0.05


def test_gradient_descent_on_a_linear_model_is_replayed_exactly() -> None:
    weights = np.zeros(9)
    for _ in range(40):
        weights -= RATE * PHI.T @ (START + PHI @ weights) / 6
    found = replay(Step(PHI @ PHI.T, np.zeros(6), START, RATE), [1, 40])
    assert found[-1] == pytest.approx(START + PHI @ weights)
    assert found[0] == pytest.approx(START - RATE * PHI @ PHI.T @ START / 6)


def test_adam_with_scales_that_hold_still_is_replayed_exactly() -> None:
    """Heavy-ball steps with b1 = 0.9, from an update in the middle."""
    scales, mean = DRAWS.uniform(0.5, 2, 9), DRAWS.standard_normal(9)
    m, weights = mean.copy(), np.zeros(9)
    for number in range(1, 31):
        m = 0.9 * m + 0.1 * PHI.T @ (START + PHI @ weights) / 6
        weights -= RATE * scales * m / (1 - 0.9 ** (7 + number))
    at = Step((PHI * scales) @ PHI.T, PHI @ (scales * mean), START, RATE, 0.9, updates=7)
    assert replay(at, [30])[0] == pytest.approx(START + PHI @ weights)


@pytest.mark.parametrize(("beta", "limit"), [(0.0, 2.0), (0.9, 38.0)])
def test_the_edge_is_where_the_first_eigenvector_begins_to_grow(beta: float, limit: float) -> None:
    """(2 + 2 b1) / (1 - b1)."""
    for factor, grows in ((0.98, False), (1.02, True)):
        at = Step(np.eye(1), np.zeros(1), np.ones(1), limit * factor, beta, updates=10_000)
        assert edge(at) == pytest.approx(limit * factor)
        assert bool(abs(replay(at, [3000])[0, 0]) > 1) is grows


def test_the_score_is_the_mean_log_eigenvalue_where_labels_are() -> None:
    kernel = np.diag([np.e, np.e**3, 1.0, 1.0])
    # Centred labels (1, -1, 0, 0) have half their energy in each of two eigenvectors.
    assert label_score(kernel, np.array([1.0, -1.0, 0.0, 0.0])) == pytest.approx(2.0)
    assert label_score(kernel, np.array([6.0, 4.0, 5.0, 5.0])) == pytest.approx(2.0)
