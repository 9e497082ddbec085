from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ntkexp.theory.alignment import centre, centre_labels, cka, label_cka

N, C = 9, 3


def kernel_and_labels(seed: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    features = generator.normal(size=(N * C, 12)) + 0.5
    one_hot = np.eye(C)[generator.integers(C, size=N)]
    return centre(features @ features.T, C), centre_labels(one_hot)


def test_the_label_kernel_is_aligned_with_itself() -> None:
    _, Y = kernel_and_labels(0)
    assert label_cka(np.outer(Y, Y), Y) == pytest.approx(1.0, abs=1e-12)
    assert cka(np.outer(Y, Y), np.outer(Y, Y)) == pytest.approx(1.0, abs=1e-12)


@settings(derandomize=True, deadline=None, max_examples=40)
@given(seed=st.integers(0, 1000), scale=st.floats(1e-6, 1e6))
def test_label_cka_is_cka_with_the_label_kernel_in_the_unit_interval_whatever_the_scale(
    seed: int, scale: float
) -> None:
    K, Y = kernel_and_labels(seed)
    value = label_cka(K, Y)
    assert 0 <= value <= 1
    assert cka(K, np.outer(Y, Y)) == pytest.approx(value, abs=1e-12)
    assert label_cka(scale * K, Y) == pytest.approx(value, rel=1e-10)


def test_a_zero_kernel_is_aligned_with_nothing() -> None:
    _, Y = kernel_and_labels(0)
    assert label_cka(np.zeros((N * C, N * C)), Y) == 0.0
    assert cka(np.zeros((2, 2)), np.eye(2)) == 0.0


def test_cka_is_the_sum_of_eigenvalues_times_squared_cosines_over_their_norm() -> None:
    K, Y = kernel_and_labels(3)
    eigenvalues, vectors = np.linalg.eigh(K)
    cosines = (vectors.T @ Y / np.linalg.norm(Y)) ** 2
    expected = eigenvalues @ cosines / np.linalg.norm(eigenvalues)
    assert label_cka(K, Y) == pytest.approx(expected, rel=1e-10)
    # Near the flat kernel of few directions that hold the labels it is one over the root of them.
    few = np.linalg.qr(np.column_stack([Y, vectors[:, :3]]))[0]
    assert label_cka(few @ few.T, Y) == pytest.approx(1 / np.sqrt(4), rel=1e-10)
