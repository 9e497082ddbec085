from __future__ import annotations

import numpy as np
import pytest

from ntkexp.errors import UserError
from ntkexp.theory.alignment import centre, centre_labels

N, C, P = 7, 3, 40


@pytest.fixture
def features() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(N * C, P)) + 1.0


def test_class_centring_subtracts_each_classes_mean_feature(features: np.ndarray) -> None:
    by_class = features.reshape(N, C, P)
    centred = (by_class - by_class.mean(axis=0)).reshape(N * C, P)
    np.testing.assert_allclose(
        centre(features @ features.T, C, "class"), centred @ centred.T, atol=1e-12
    )


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


def test_the_two_centrings_agree_on_one_class(features: np.ndarray) -> None:
    K = features @ features.T
    np.testing.assert_allclose(centre(K, 1, "class"), centre(K, 1, "joint"), atol=1e-12)


@pytest.mark.parametrize("kind", ["class", "joint"])
def test_centring_twice_is_centring_once(features: np.ndarray, kind: str) -> None:
    once = centre(features @ features.T, C, kind)
    np.testing.assert_allclose(centre(once, C, kind), once, atol=1e-12)


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
