from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ntkexp.errors import UserError
from ntkexp.theory.alignment import (
    ALIGNMENTS,
    CENTRINGS,
    centre,
    centre_labels,
    cka,
    label_cka,
    label_ckas,
)

N, C, P = 7, 3, 40


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


@pytest.fixture
def features() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(N * C, P)) + 1.0


def test_class_centring_is_the_kronecker_product_of_the_specification(features: np.ndarray) -> None:
    K = features @ features.T
    H = np.kron(np.eye(N) - np.full((N, N), 1 / N), np.eye(C))
    np.testing.assert_allclose(centre(K, C, "class"), H @ K @ H, atol=1e-12)


def test_joint_centring_subtracts_the_mean_over_all_rows(features: np.ndarray) -> None:
    centred = features - features.mean(axis=0)
    np.testing.assert_allclose(
        centre(features @ features.T, C, "joint"), centred @ centred.T, atol=1e-12
    )


def test_none_leaves_the_kernel_and_does_not_share_its_memory(features: np.ndarray) -> None:
    K = features @ features.T
    same = centre(K, C, "none")
    np.testing.assert_array_equal(same, K)
    assert not np.shares_memory(same, K)


@pytest.mark.parametrize("kind", ["class", "joint", "none"])
def test_labels_are_centred_as_features_are(kind: str) -> None:
    one_hot = np.eye(C)[np.random.default_rng(1).integers(C, size=N)]
    Y = one_hot.ravel()
    vector = centre_labels(one_hot, kind)
    K_Y = centre(np.outer(Y, Y), C, kind)
    np.testing.assert_allclose(np.outer(vector, vector), K_Y, atol=1e-12)


def test_an_unknown_kind_and_a_wrong_shape_are_refused() -> None:
    with pytest.raises(UserError, match="centring: 'classes' is not one of class, joint, none"):
        centre(np.eye(4), 2, "classes")
    with pytest.raises(ValueError, match="not square over 3 classes"):
        centre(np.eye(4), 3)


@given(seed=st.integers(0, 999), n=st.integers(2, 12), c=st.integers(1, 5), shift=st.floats(0, 30))
def test_it_is_the_cka_of_the_centred_kernel(seed: int, n: int, c: int, shift: float) -> None:
    rng = np.random.default_rng(seed)
    # A common shift of all features is what centring takes away.
    Phi = rng.normal(size=(n * c, 7)) + shift * rng.normal(size=7)
    K, labels = Phi @ Phi.T, np.eye(c)[rng.permutation(np.arange(n) % c)]
    if c == 1:
        labels = np.where(np.arange(n) % 2, 1.0, -1.0)[:, None]
    found = label_ckas(K, labels)
    for kind in CENTRINGS:
        expected = label_cka(centre(K, c, kind), centre_labels(labels, kind))
        assert found[kind] == pytest.approx(expected, rel=1e-7, abs=1e-9)
    assert found["labels"] == pytest.approx(label_cka(K, centre_labels(labels, "class")), rel=1e-7)


def test_a_kernel_that_centring_takes_away_whole_has_none() -> None:
    assert label_ckas(np.ones((6, 6)), np.eye(2)[[0, 1, 0]])["joint"] == 0
    assert label_ckas(np.zeros((4, 4)), np.eye(2)) == dict.fromkeys(ALIGNMENTS, 0.0)
