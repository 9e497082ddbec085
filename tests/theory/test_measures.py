"""The complexity measures of Figure 6: margins, norms, and bounds for any depth and two layers."""

from __future__ import annotations

import numpy as np
import pytest

from ntkexp.errors import UserError
from ntkexp.theory import measures
from ntkexp.theory.measures import fisher_rao, path_norm


def test_the_margin_of_two_classes_is_the_label_times_the_output() -> None:
    np.testing.assert_allclose(measures.margins([2.0, 3.0], [1, -1]), [2.0, -3.0])
    np.testing.assert_allclose(measures.margins([[2.0], [3.0]], [1, -1]), [2.0, -3.0])


def test_the_margin_of_many_classes_is_the_lead_over_the_best_other() -> None:
    outputs = [[1.0, 4.0, 2.0], [1.0, 4.0, 2.0]]
    np.testing.assert_allclose(measures.margins(outputs, [1, 0]), [2.0, -3.0])


def test_gamma_is_the_fifth_percentile() -> None:
    assert measures.margin_percentile(np.arange(101.0)) == pytest.approx(5.0)


def test_the_distribution_of_a_small_sample() -> None:
    summary = measures.distribution([0.0, 1.0, 2.0, 3.0, 4.0])
    assert summary["mean"] == 2.0
    assert summary["std"] == pytest.approx(np.sqrt(2.0))
    assert [summary[f"q{q}"] for q in (0, 25, 50, 75, 100)] == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_a_quantile_is_named_by_its_percentage() -> None:
    summary = measures.distribution(np.arange(101.0))
    told = {name: value for name, value in summary.items() if name.startswith("q")}
    assert told == pytest.approx({f"q{q}": q for q in (0, 5, 10, 25, 50, 75, 90, 95, 100)})


def test_the_inverse_squared_margin() -> None:
    assert measures.inverse_squared(0.5) == 4.0


@pytest.mark.parametrize("margin", [0.0, -0.3, float("nan")])
def test_a_margin_that_is_not_positive_is_refused_in_words(margin: float) -> None:
    with pytest.raises(UserError, match="is not positive"):
        measures.inverse_squared(margin)


W = [np.diag([3.0, 4.0]), np.array([[1.0, 2.0]])]
W0 = [np.zeros((2, 2)), np.array([[1.0, 0.0]])]


def test_norms_of_one_matrix() -> None:
    matrix = [[3.0, 4.0], [0.0, 2.0]]
    assert measures.frobenius(matrix) == pytest.approx(np.sqrt(29.0))
    assert measures.two_one(matrix) == pytest.approx(5.0 + 2.0)
    assert measures.spectral(W[0]) == pytest.approx(4.0)


def test_norms_of_a_net() -> None:
    assert measures.l2(W) == pytest.approx(np.sqrt(25.0 + 5.0))
    assert measures.distance(W, W0) == pytest.approx(np.sqrt(25.0 + 4.0))
    assert measures.frobenius_product(W) == pytest.approx(5.0 * np.sqrt(5.0))
    assert measures.spectral_product(W) == pytest.approx(4.0 * np.sqrt(5.0))


def test_bartletts_deep_bound() -> None:
    """|D_1|_{2,1} / s_1 = 7 / 4 and |D_2|_{2,1} / s_2 = 2 / sqrt5."""
    sums = (7 / 4) ** (2 / 3) + (2 / np.sqrt(5)) ** (2 / 3)
    by_hand = 4 * np.sqrt(5) * sums**1.5 / (0.5 * np.sqrt(100))
    assert measures.spectral_two_one(W, W0, margin=0.5, examples=100) == pytest.approx(by_hand)


def test_neyshaburs_deep_bound() -> None:
    """h_1 |D_1|^2 / s_1^2 = 2 25 / 16 and h_2 |D_2|^2 / s_2^2 = 1 4 / 5."""
    by_hand = 2 * 4 * np.sqrt(5) * np.sqrt(50 / 16 + 4 / 5) / (0.5 * np.sqrt(100))
    assert measures.spectral_frobenius(W, W0, margin=0.5, examples=100) == pytest.approx(by_hand)


def test_a_path_norm_from_the_outputs_of_the_net_of_powers() -> None:
    assert path_norm([9.0, 16.0], p=2) == pytest.approx(5.0)


def test_fisher_rao() -> None:
    """Inner products 1 and -1, two hidden layers."""
    assert fisher_rao([[1.0, 0.0], [1.0, -1.0]], [[1.0, 5.0], [2.0, 3.0]], layers=2) == (
        pytest.approx(9 * (1 + 1) / 2)
    )


def test_multiplying_a_layer_and_dividing_the_next_leaves_the_deep_bounds_alone() -> None:
    scaled, scaled0 = [2 * W[0], W[1] / 2], [2 * W0[0], W0[1] / 2]
    for measure in (measures.spectral_two_one, measures.spectral_frobenius):
        assert measure(scaled, scaled0, 0.5, 100) == pytest.approx(measure(W, W0, 0.5, 100))


U, U0 = np.diag([3.0, 4.0]), np.eye(2)
V, V0 = np.array([[1.0, 2.0]]), np.array([[1.0, 0.0]])
X = np.array([[1.0, -1.0], [3.0, 1.0]])
GAMMA = 0.5

MOVED_U = np.sqrt(4.0 + 9.0)
NORM_V = np.sqrt(5.0)
INPUT_NORM = np.sqrt((2.0 + 10.0) / 2)


def test_neyshaburs_core() -> None:
    assert measures.neyshabur_core(U, V, U0, GAMMA) == pytest.approx(
        (NORM_V + MOVED_U * NORM_V) / GAMMA + np.sqrt(2)
    )


def test_neyshaburs_bound() -> None:
    """At U0 = I the units see relu(x): mean squares (1 + 9) / 2 and (0 + 1) / 2."""
    activity = np.sqrt(5.0 + 0.5)
    first = 3 * np.sqrt(2) * (np.sqrt(2) + 1) * (NORM_V + 1)
    R = first * (activity + MOVED_U * INPUT_NORM + 1) / GAMMA
    counting = 3 * np.sqrt(5 * 2 + np.log(1 / 0.01))
    assert measures.neyshabur_bound(U, V, U0, X, GAMMA) == pytest.approx((R + counting) ** 2)


def test_classes_enter_neyshaburs_bound_by_their_root() -> None:
    """A second class without weights leaves all norms as they are: sqrt(2 C) alone grows."""
    counting = 3 * np.sqrt(5 * 2 + np.log(1 / 0.01))
    two = np.vstack([V, np.zeros((1, 2))])
    one_class, two_classes = (
        np.sqrt(measures.neyshabur_bound(U, weights, U0, X, GAMMA)) - counting
        for weights in (V, two)
    )
    assert two_classes / one_class == pytest.approx((np.sqrt(4) + 1) / (np.sqrt(2) + 1))


def test_the_margin_enters_neyshaburs_logarithm_when_it_is_large() -> None:
    small, large = (measures.neyshabur_bound(U, 0 * V, U0, 0 * X, g) for g in (1e9, 1e12))
    assert small == pytest.approx(9 * (10 + np.log(1e9 * np.sqrt(2) / 0.01)), rel=1e-6)
    assert large > small


def test_the_frobenius_bound() -> None:
    by_hand = 5.0 * NORM_V * INPUT_NORM / GAMMA
    assert measures.frobenius_bound(U, V, X, GAMMA) == pytest.approx(by_hand)


def test_the_spectral_two_one_bound() -> None:
    """|U - U0|_{2,1} = 2 + 3 and |V - V0|_{2,1} = 2, with s_2 = sqrt5 and s_1 = 4."""
    by_hand = ((NORM_V * 5.0) ** (2 / 3) + (4.0 * 2.0) ** (2 / 3)) ** 1.5 / GAMMA
    found = measures.spectral_two_one([U, V], [U0, V0], GAMMA, examples=7)
    assert found * np.sqrt(7) == pytest.approx(by_hand)


def test_the_spectral_frobenius_bound() -> None:
    """H = 2, C = 1 and max|x| = sqrt10."""
    root = np.sqrt(2 * (NORM_V * MOVED_U) ** 2 + (4.0 * 2.0) ** 2)
    by_hand = root * np.sqrt(10.0) * 4.0 / GAMMA
    assert measures.two_layer_spectral_frobenius(U, V, U0, V0, X, GAMMA) == pytest.approx(by_hand)


def test_a_negative_margin_is_refused() -> None:
    with pytest.raises(UserError, match="margin: -1 is not positive"):
        measures.frobenius_bound(U, V, X, -1.0)
