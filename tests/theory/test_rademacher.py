from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from ntkexp.theory import rademacher

RANDOM = settings(derandomize=True, deadline=None, max_examples=40)


def instance(seed: int, n: int, P: int) -> tuple[np.ndarray, np.ndarray]:
    """Features (n, P) and an invertible A (P, P)."""
    generator = np.random.default_rng(seed)
    return generator.normal(size=(n, P)), generator.normal(size=(P, P)) + 3 * np.eye(P)


def test_the_supremum_over_the_ball_is_what_optimisation_finds() -> None:
    features, A = instance(0, 5, 3)
    signs, radius = np.array([1.0, -1.0, 1.0, 1.0, -1.0]), 1.7
    K_A = rademacher.rescaled_kernel(features, A)

    def negative(w: np.ndarray) -> float:
        """-sum_i sigma_i f(x_i) at w scaled onto the sphere |A^T w| = M."""
        return float(-radius * signs @ features @ w / np.linalg.norm(A.T @ w))

    found = -optimize.minimize(negative, np.ones(3), tol=1e-14).fun
    assert rademacher.supremum(K_A, radius, signs)[0] == pytest.approx(found, rel=1e-9)


@RANDOM
@given(seed=st.integers(0, 10_000), n=st.integers(1, 10), P=st.integers(1, 8))
def test_enumeration_never_exceeds_bound_10(seed: int, n: int, P: int) -> None:
    features, A = instance(seed, n, P)
    K_A = rademacher.rescaled_kernel(features, A)
    assert rademacher.exact(K_A, 2.0) <= rademacher.bound(K_A, 2.0) * (1 + 1e-12)


def test_bound_10_is_attained_by_orthogonal_features() -> None:
    assert rademacher.exact(np.eye(6), 1.0) == pytest.approx(rademacher.bound(np.eye(6), 1.0))


def test_random_signs_agree_with_enumeration() -> None:
    features, _ = instance(2, 8, 3)
    K = features @ features.T
    mean, error = rademacher.monte_carlo(K, 1.0, 20_000, np.random.default_rng(0))
    assert abs(mean - rademacher.exact(K, 1.0)) < 4 * error


@RANDOM
@given(seed=st.integers(0, 10_000), steps=st.integers(1, 5))
def test_learning_flows_obey_theorem_2(seed: int, steps: int) -> None:
    generator = np.random.default_rng(seed)
    features = generator.normal(size=(7, 3))
    rescalings = generator.normal(size=(steps, 3, 3)) + 3 * np.eye(3)
    kernels = [rademacher.rescaled_kernel(features, A) for A in rescalings]
    radii = list(generator.uniform(0.1, 1.0, size=steps))
    exact = rademacher.flow_exact(kernels, radii)
    assert exact <= rademacher.flow_bound(kernels, radii) * (1 + 1e-12)


def test_a_flow_of_one_geometry_is_a_ball_of_the_summed_radius() -> None:
    features, _ = instance(3, 6, 4)
    K = features @ features.T
    flow = rademacher.flow_exact([K, K, K], [0.5, 0.25, 1.0])
    assert flow == pytest.approx(rademacher.exact(K, 1.75), rel=1e-12)


def test_a_flow_has_a_radius_for_every_kernel() -> None:
    features, _ = instance(3, 6, 4)
    K = features @ features.T
    for of_flow in (rademacher.flow_exact, rademacher.flow_bound):
        with pytest.raises(ValueError, match="shorter"):
            of_flow([K, K], [0.5])


@RANDOM
@given(seed=st.integers(0, 10_000), classes=st.integers(2, 4), gamma=st.floats(0.1, 3.0))
def test_the_margin_loss_class_obeys_lemma_12_and_theorem_13(
    seed: int, classes: int, gamma: float
) -> None:
    """Weights sampled from the ball bound the class's complexity from below."""
    generator = np.random.default_rng(seed)
    n, P, radius = 6, 3, 1.5
    features = generator.normal(size=(n * classes, P))
    labels = generator.integers(classes, size=n)
    weights = generator.normal(size=(200, P))
    weights *= radius / np.linalg.norm(weights, axis=1, keepdims=True)
    scores = (weights @ features.T).reshape(-1, n, classes)
    own = scores[:, np.arange(n), labels]
    others = np.where(np.eye(classes, dtype=bool)[labels], -np.inf, scores).max(axis=-1)
    found = rademacher.finite_class(rademacher.ramp(own - others, gamma))

    K = features @ features.T
    lemma = rademacher.lemma_12_bound(K, classes, radius, gamma)
    theorem = rademacher.multiclass_bound(K, classes, radius, gamma)
    assert found <= lemma * (1 + 1e-12)
    assert lemma <= theorem * (1 + 1e-12)


@pytest.mark.parametrize("classes", [2, 3])
def test_theorem_13_is_lemma_12_where_the_features_are_orthogonal(classes: int) -> None:
    """Both are then c^2 M / (gamma sqrt n)."""
    n, radius, gamma = 4, 1.5, 0.3
    K = np.eye(n * classes)
    by_hand = classes**2 * radius / (gamma * 2)
    assert rademacher.lemma_12_bound(K, classes, radius, gamma) == pytest.approx(by_hand)
    assert rademacher.multiclass_bound(K, classes, radius, gamma) == pytest.approx(by_hand)


def test_the_ramp_is_one_below_zero_and_zero_above_gamma() -> None:
    np.testing.assert_allclose(rademacher.ramp([-1.0, 0.0, 1.0, 2.0, 9.0], 2.0), [1, 1, 0.5, 0, 0])


def test_enumeration_of_too_many_signs_is_refused() -> None:
    with pytest.raises(ValueError, match="n = 21"):
        rademacher.exact(np.eye(21), 1.0)
