"""Hand-computed: W_1 = diag(3, 4) started at 0, W_2 = (1, 2) started at (1, 0)."""

from __future__ import annotations

import numpy as np
import pytest

from ntkexp.theory.measures import deep, norms
from ntkexp.theory.measures.fisher_rao import fisher_rao
from ntkexp.theory.measures.paths import mlp_path_norm, path_norm

W = [np.diag([3.0, 4.0]), np.array([[1.0, 2.0]])]
W0 = [np.zeros((2, 2)), np.array([[1.0, 0.0]])]


def test_norms_of_one_matrix() -> None:
    matrix = [[3.0, 4.0], [0.0, 2.0]]
    assert norms.frobenius(matrix) == pytest.approx(np.sqrt(29.0))
    assert norms.two_one(matrix) == pytest.approx(5.0 + 2.0)
    assert norms.spectral(W[0]) == pytest.approx(4.0)


def test_norms_of_a_net() -> None:
    assert norms.parameters(W) == 6
    assert norms.l2(W) == pytest.approx(np.sqrt(25.0 + 5.0))
    assert norms.distance(W, W0) == pytest.approx(np.sqrt(25.0 + 4.0))
    assert norms.frobenius_product(W) == pytest.approx(5.0 * np.sqrt(5.0))
    assert norms.spectral_product(W) == pytest.approx(4.0 * np.sqrt(5.0))


def test_bartletts_deep_bound() -> None:
    """|D_1|_{2,1} / s_1 = 7 / 4 and |D_2|_{2,1} / s_2 = 2 / sqrt5."""
    sums = (7 / 4) ** (2 / 3) + (2 / np.sqrt(5)) ** (2 / 3)
    by_hand = 4 * np.sqrt(5) * sums**1.5 / (0.5 * np.sqrt(100))
    assert deep.spectral_two_one(W, W0, margin=0.5, examples=100) == pytest.approx(by_hand)


def test_neyshaburs_deep_bound() -> None:
    """h_1 |D_1|^2 / s_1^2 = 2 25 / 16 and h_2 |D_2|^2 / s_2^2 = 1 4 / 5."""
    by_hand = 2 * 4 * np.sqrt(5) * np.sqrt(50 / 16 + 4 / 5) / (0.5 * np.sqrt(100))
    assert deep.spectral_frobenius(W, W0, margin=0.5, examples=100) == pytest.approx(by_hand)


def test_path_norms_sum_over_paths() -> None:
    """Paths 3 1 and 4 2."""
    assert mlp_path_norm(W, p=1) == pytest.approx(3.0 + 8.0)
    assert mlp_path_norm(W, p=2) == pytest.approx(np.sqrt(9.0 + 64.0))


def test_biases_start_paths_of_their_own() -> None:
    """Two more paths: -0.5 at the first unit, through its outgoing 1, and 2 at the output."""
    biases = [[-0.5, 0.0], [2.0]]
    assert mlp_path_norm(W, p=1, biases=biases) == pytest.approx(11.0 + 0.5 + 2.0)
    assert mlp_path_norm(W, p=2, biases=biases) == pytest.approx(np.sqrt(73.0 + 0.25 + 4.0))


def test_a_path_begins_at_each_input() -> None:
    """Three inputs, one unit, two outputs: weights of sum 4, times weights of sum 5."""
    assert mlp_path_norm([[[1.0, -2.0, 1.0]], [[3.0], [-2.0]]], p=1) == pytest.approx(20.0)


def test_a_path_norm_from_the_outputs_of_the_net_of_powers() -> None:
    assert path_norm([9.0, 16.0], p=2) == pytest.approx(5.0)


def test_fisher_rao() -> None:
    """Inner products 1 and -1, two hidden layers."""
    assert fisher_rao([[1.0, 0.0], [1.0, -1.0]], [[1.0, 5.0], [2.0, 3.0]], layers=2) == (
        pytest.approx(9 * (1 + 1) / 2)
    )


def test_multiplying_a_layer_and_dividing_the_next_leaves_the_deep_bounds_alone() -> None:
    scaled, scaled0 = [2 * W[0], W[1] / 2], [2 * W0[0], W0[1] / 2]
    for measure in (deep.spectral_two_one, deep.spectral_frobenius):
        assert measure(scaled, scaled0, 0.5, 100) == pytest.approx(measure(W, W0, 0.5, 100))
    assert mlp_path_norm(scaled, p=2) == pytest.approx(mlp_path_norm(W, p=2))
