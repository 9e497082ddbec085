"""Hand-computed: U = diag(3, 4) started at the identity, V = (1, 2) started at (1, 0)."""

from __future__ import annotations

import numpy as np
import pytest

from ntkexp.errors import UserError
from ntkexp.theory.measures import deep, two_layer

U, U0 = np.diag([3.0, 4.0]), np.eye(2)
V, V0 = np.array([[1.0, 2.0]]), np.array([[1.0, 0.0]])
X = np.array([[1.0, -1.0], [3.0, 1.0]])
GAMMA = 0.5

MOVED_U = np.sqrt(4.0 + 9.0)
NORM_V = np.sqrt(5.0)
INPUT_NORM = np.sqrt((2.0 + 10.0) / 2)


def test_neyshaburs_core() -> None:
    assert two_layer.neyshabur_core(U, V, U0, GAMMA) == pytest.approx(
        (NORM_V + MOVED_U * NORM_V) / GAMMA + np.sqrt(2)
    )


def test_neyshaburs_bound() -> None:
    """At U0 = I the units see relu(x): mean squares (1 + 9) / 2 and (0 + 1) / 2."""
    activity = np.sqrt(5.0 + 0.5)
    first = 3 * np.sqrt(2) * (np.sqrt(2) + 1) * (NORM_V + 1)
    R = first * (activity + MOVED_U * INPUT_NORM + 1) / GAMMA
    counting = 3 * np.sqrt(5 * 2 + np.log(1 / 0.01))
    assert two_layer.neyshabur_bound(U, V, U0, X, GAMMA) == pytest.approx((R + counting) ** 2)


def test_classes_enter_neyshaburs_bound_by_their_root() -> None:
    """A second class without weights leaves all norms as they are: sqrt(2 C) alone grows."""
    counting = 3 * np.sqrt(5 * 2 + np.log(1 / 0.01))
    two = np.vstack([V, np.zeros((1, 2))])
    one_class, two_classes = (
        np.sqrt(two_layer.neyshabur_bound(U, weights, U0, X, GAMMA)) - counting
        for weights in (V, two)
    )
    assert two_classes / one_class == pytest.approx((np.sqrt(4) + 1) / (np.sqrt(2) + 1))


def test_the_margin_enters_neyshaburs_logarithm_when_it_is_large() -> None:
    small, large = (two_layer.neyshabur_bound(U, 0 * V, U0, 0 * X, g) for g in (1e9, 1e12))
    assert small == pytest.approx(9 * (10 + np.log(1e9 * np.sqrt(2) / 0.01)), rel=1e-6)
    assert large > small


def test_the_frobenius_bound() -> None:
    by_hand = 5.0 * NORM_V * INPUT_NORM / GAMMA
    assert two_layer.frobenius_bound(U, V, X, GAMMA) == pytest.approx(by_hand)


def test_the_spectral_two_one_bound() -> None:
    """|U - U0|_{2,1} = 2 + 3 and |V - V0|_{2,1} = 2, with s_2 = sqrt5 and s_1 = 4."""
    by_hand = ((NORM_V * 5.0) ** (2 / 3) + (4.0 * 2.0) ** (2 / 3)) ** 1.5 / GAMMA
    found = deep.spectral_two_one([U, V], [U0, V0], GAMMA, examples=7)
    assert found * np.sqrt(7) == pytest.approx(by_hand)


def test_the_spectral_frobenius_bound() -> None:
    """H = 2, C = 1 and max|x| = sqrt10."""
    root = np.sqrt(2 * (NORM_V * MOVED_U) ** 2 + (4.0 * 2.0) ** 2)
    by_hand = root * np.sqrt(10.0) * 4.0 / GAMMA
    assert two_layer.spectral_frobenius(U, V, U0, V0, X, GAMMA) == pytest.approx(by_hand)


def test_a_negative_margin_is_refused() -> None:
    with pytest.raises(UserError, match="margin: -1 is not positive"):
        two_layer.frobenius_bound(U, V, X, -1.0)
