from __future__ import annotations

import numpy as np
import pytest

from ntkexp.theory.adaptive import kernels


def symmetric(seed: int, n: int = 6) -> np.ndarray:
    half = np.random.default_rng(seed).normal(size=(n, n))
    return half @ half.T


def test_the_cosine_with_a_label_kernel_is_that_of_the_quadratic_form() -> None:
    K, r = symmetric(0), np.random.default_rng(1).normal(size=6)
    expected = r @ K @ r / (np.linalg.norm(K) * (r @ r))
    assert kernels.cosine(K, kernels.label_kernel(r)) == pytest.approx(expected)


def test_a_combination_is_found_and_explains_all() -> None:
    first, second = symmetric(2), symmetric(3)
    found = kernels.fit(2 * first - 3 * second, {"first": first, "second": second})
    assert found.coefficients == pytest.approx({"first": 2, "second": -3})
    assert found.r2 == pytest.approx(1.0)
    np.testing.assert_allclose(found.remainder, 0, atol=1e-11)


def test_cosines_of_kernels_give_those_with_their_sum_and_best_combination() -> None:
    K, first, second = symmetric(8), symmetric(9), symmetric(10)
    of = kernels.cosine(K, first), kernels.cosine(K, second), kernels.cosine(first, second)
    total = first / np.linalg.norm(first) + 0.7 * second / np.linalg.norm(second)
    assert kernels.sum_cosine(*of, 0.7) == pytest.approx(kernels.cosine(K, total))
    fitted = K - kernels.fit(K, {"a": first, "b": second}).remainder
    assert kernels.nearest_cosine(*of) == pytest.approx(kernels.cosine(K, fitted))


def test_what_no_part_explains_is_left_and_orthogonal_to_all_parts() -> None:
    K, first, second = symmetric(4), symmetric(5), symmetric(6)
    one, both = kernels.fit(K, {"a": first}), kernels.fit(K, {"a": first, "b": second})
    assert both.r2 >= one.r2
    for part in (first, second):
        assert np.vdot(both.remainder, part) == pytest.approx(0, abs=1e-9)


def test_principal_angles_of_a_span_with_itself_and_with_its_complement() -> None:
    vectors = np.linalg.qr(np.random.default_rng(7).normal(size=(6, 6)))[0]
    K = (vectors * [9.0, -8.0, 1.0, 0.1, 0.1, 0.1]) @ vectors.T
    top = kernels.principal_directions(K, 2)
    np.testing.assert_allclose(kernels.principal_cosines(top, vectors[:, :2]), 1, atol=1e-12)
    np.testing.assert_allclose(kernels.principal_cosines(top, vectors[:, 2:4]), 0, atol=1e-9)


def test_fifths_are_by_size() -> None:
    y = np.array([-5.0, 4.0, 3.0, -2.0, 0.1, 1.0, 2.5, 3.5, 4.5, -0.2])
    values = np.where(np.abs(y) < 1, 6.0, 3.0)
    assert kernels.fifth_means(values, np.abs(y)) == (6.0, 3.0)


def test_ranks_of_correlations() -> None:
    x = np.array([0.1, 5.0, -2.0, 3.0])
    assert kernels.correlation(kernels.ranks(x), kernels.ranks(np.exp(x))) == pytest.approx(1.0)
    assert np.isnan(kernels.correlation(x, np.ones(4)))


@pytest.mark.filterwarnings("error")
def test_a_kernel_that_overflows_has_no_cosine_and_no_fit() -> None:
    overflown, other = np.array([[np.inf, 0.0], [0.0, -np.inf]]), np.eye(2)
    assert np.isnan(kernels.cosine(overflown, other))
    assert np.isnan(kernels.cosine(overflown, 0 * other))
    found = kernels.fit(overflown, {"a": other})
    assert np.isnan([found.coefficients["a"], found.r2, *found.remainder.flat]).all()
