from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ntkexp.theory.spectrum import (
    effective_rank,
    eigenpairs,
    eigenvalues,
    mode_updates,
    positive,
    trace_ratios,
)

SPECTRA = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=30)
EXACT = settings(derandomize=True, deadline=None, max_examples=60)


def test_eigenvalues_are_those_of_the_other_gram_matrix() -> None:
    """G = Phi^T Phi and K = Phi Phi^T share the non-zero spectrum (Prop 4)."""
    features = np.random.default_rng(0).normal(size=(6, 11))
    K, G = features @ features.T, features.T @ features
    np.testing.assert_allclose(eigenvalues(K), eigenvalues(G)[:6], atol=1e-12)
    np.testing.assert_allclose(eigenvalues(G)[6:], 0.0, atol=1e-12)


def test_eigenvalues_come_largest_first_from_the_symmetric_part_and_never_below_zero() -> None:
    values = eigenvalues([[1.0, 4.0], [2.0, 1.0]])
    np.testing.assert_allclose(values, [4.0, 0.0], atol=1e-12)


def test_eigenpairs_rebuild_the_kernel() -> None:
    features = np.random.default_rng(1).normal(size=(6, 4))
    values, vectors = eigenpairs(features @ features.T)
    np.testing.assert_allclose((vectors * values) @ vectors.T, features @ features.T, atol=1e-12)
    assert np.all(np.diff(values) <= 0)


def test_exact_zeros_of_a_centred_kernel_are_not_positive() -> None:
    features = np.random.default_rng(2).normal(size=(8, 50))
    features -= features.mean(axis=0)
    assert len(positive(eigenvalues(features @ features.T))) == 7


def test_a_small_eigenvalue_of_a_kernel_centred_in_float64_is_positive() -> None:
    assert len(positive([1.0, 1e-3, 1e-9, 1e-17])) == 3


def test_a_long_tail_of_small_eigenvalues_counts() -> None:
    """Below 1000 times the eps of float32 lies a real part of a kernel's spectrum."""
    eigs = np.concatenate([[1.0], np.full(999, 1e-4)])
    shares = eigs / eigs.sum()
    assert effective_rank(eigs) == pytest.approx(np.exp(-np.sum(shares * np.log(shares))))


@EXACT
@given(rank=st.integers(1, 50), scale=st.floats(1e-6, 1e6))
def test_a_flat_spectrum_has_its_rank(rank: int, scale: float) -> None:
    assert effective_rank(np.full(rank, scale)) == pytest.approx(rank, rel=1e-12)


@EXACT
@given(values=SPECTRA, scale=st.floats(1e-6, 1e6))
def test_effective_rank_ignores_scale_and_lies_between_one_and_the_rank(
    values: list[float], scale: float
) -> None:
    eigs = np.sort(values)[::-1]
    rank = effective_rank(eigs)
    assert effective_rank(eigs * scale) == pytest.approx(rank, rel=1e-12)
    assert 1 - 1e-12 <= rank <= len(eigs) * (1 + 1e-12)


def test_a_single_direction_has_effective_rank_one_and_the_zero_kernel_none() -> None:
    assert effective_rank([5.0, 0.0, 0.0]) == 1.0
    assert effective_rank([0.0, 0.0]) == 0.0


@EXACT
@given(values=SPECTRA)
def test_trace_ratios_rise_to_one_and_lie_above_the_diagonal(values: list[float]) -> None:
    eigs = np.sort(values)[::-1]
    ratios = trace_ratios(eigs)
    assert ratios[-1] == pytest.approx(1.0, abs=1e-12)
    assert ratios[0] == pytest.approx(eigs[0] / eigs.sum(), rel=1e-12)
    assert np.all(ratios >= np.arange(1, len(eigs) + 1) / len(eigs) - 1e-12)


def test_trace_ratios_of_the_zero_kernel_are_zero() -> None:
    np.testing.assert_array_equal(trace_ratios([0.0, 0.0]), [0.0, 0.0])


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
