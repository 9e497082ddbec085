"""Scores from counts, and which tenths a network sees."""

from __future__ import annotations

import numpy as np
import pytest

from ntkexp.theory.lazy.c_scores import (
    TENTHS,
    consistency,
    leave_one_out,
    tenths_seen,
)
from ntkexp.theory.measures import margins


@pytest.mark.parametrize("ratio", range(1, 10))
def test_ten_networks_leave_every_tenth_out_equally_often(ratio: int) -> None:
    seen = np.array([tenths_seen(net, ratio) for net in range(TENTHS)])
    assert all(len(set(row)) == ratio for row in seen)
    assert (np.bincount(seen.ravel(), minlength=TENTHS) == ratio).all()


def test_the_standard_error_is_that_of_repeated_estimates() -> None:
    rng = np.random.default_rng(0)
    p, m, repeats = np.array([[0.2], [0.6], [0.95]]), np.array([[30], [20], [8]]), 20_000
    right = rng.binomial(m, p, size=(3, repeats))
    score, error = consistency(right, np.broadcast_to(m, right.shape))
    assert score.mean() == pytest.approx(p.mean(), abs=2e-3)
    assert np.sqrt((error**2).mean()) == pytest.approx(score.std(), rel=0.02)


def largest_error(ratios: np.ndarray, networks: int) -> float:
    """The standard error of a score if every p is 1/2, with `networks` of each ratio k / 10."""
    left_out = networks / TENTHS * (TENTHS - ratios)
    return float(np.sqrt((0.25 / left_out).sum()) / len(left_out))


def test_no_score_has_a_larger_error_than_at_one_half() -> None:
    rng, ratios = np.random.default_rng(1), np.arange(1, 10)
    left_out = 6 * (TENTHS - ratios)[:, None]
    spreads = {
        p: (rng.binomial(left_out, p, size=(9, 20_000)) / left_out).mean(0).std()
        for p in (0.3, 0.5, 0.8)
    }
    assert largest_error(ratios, 60) == pytest.approx(spreads[0.5], rel=0.02)
    assert max(spreads, key=spreads.__getitem__) == 0.5
    assert largest_error(ratios, 60) < 0.04 < largest_error(ratios, 40)


def brute_force(kernel: np.ndarray, targets: np.ndarray, ridge: float) -> np.ndarray:
    """Each point predicted by a fit of all others."""
    found = []
    for i in range(len(kernel)):
        others = np.delete(np.arange(len(kernel)), i)
        inner = kernel[np.ix_(others, others)] + ridge * np.eye(len(others))
        found.append(kernel[i, others] @ np.linalg.solve(inner, targets[others]))
    return np.array(found)


@pytest.mark.parametrize("ridge", [1e-3, 0.5, 100.0])
@pytest.mark.parametrize("outputs", [None, 1, 3])
@pytest.mark.parametrize("features", [5, 60])
def test_it_is_what_fits_without_each_point_give(
    ridge: float, outputs: int | None, features: int
) -> None:
    rng = np.random.default_rng(0)
    phi = rng.normal(size=(25, features))
    y = rng.normal(size=25 if outputs is None else (25, outputs))
    kernel = phi @ phi.T
    expected = brute_force(kernel, y, ridge)
    assert leave_one_out(kernel, y, ridge) == pytest.approx(expected, rel=1e-8, abs=1e-8)


def test_a_wrong_label_among_its_like_has_a_negative_margin() -> None:
    rng = np.random.default_rng(1)
    centres = np.array([[3.0, 0.0], [-3.0, 0.0]])
    labels = np.arange(40) % 2
    points = centres[labels] + 0.3 * rng.normal(size=(40, 2))
    given = labels.copy()
    given[7] = 1 - given[7]
    outputs = leave_one_out(points @ points.T, np.eye(2)[given], 0.1)
    found = margins(outputs, given)
    assert found[7] < 0 < np.delete(found, 7).min()


def test_margins_of_three_outputs() -> None:
    outputs = np.array([[0.1, 0.7, 0.2], [0.5, 0.1, 0.9]])
    assert margins(outputs, [1, 0]) == pytest.approx([0.5, -0.4])
    assert outputs[1, 0] == 0.5  # left as it was
