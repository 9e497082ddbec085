"""Scores from counts, and which tenths a network sees."""

from __future__ import annotations

import numpy as np
import pytest

from ntkexp.theory.lazy.c_scores import TENTHS, consistency, largest_error, tenths_seen


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
