"""What is said of a curve along training: levels, crossings, orders."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ntkexp.claims import curves

PROBES = pd.Series([9.0, 5.0, 7.0, 1.0, 3.0], index=[0, 10, 100, 1000, 10000])


def test_a_value_that_one_probe_alone_shows_is_smoothed_away() -> None:
    spike = pd.Series([1.0, 1.0, 50.0, 1.0, 3.0], index=[0, 10, 20, 30, 40])
    assert list(curves.smooth(spike)) == [1.0, 1.0, 1.0, 3.0, 2.0]


def test_a_level_is_the_median_of_the_three_probes_nearest_by_their_ratio() -> None:
    """600 is nearer to 10 than to 10,000, but its ratio is not."""
    assert curves.level(PROBES, 600) == 3.0
    assert curves.level(PROBES, 10000) == 3.0
    assert curves.level(PROBES, 0) == 7.0


def test_the_value_at_a_step_is_that_of_the_nearest_probe() -> None:
    assert [curves.at(PROBES, step) for step in (0, 54, 56, 99999)] == [9.0, 5.0, 7.0, 3.0]


def test_figures_show_a_curve_from_iteration_10_on() -> None:
    assert list(curves.shown(PROBES).index) == [10, 100, 1000, 10000]
    short = PROBES[PROBES.index < 10]
    assert list(curves.shown(short).index) == [0]


def test_a_curve_crosses_a_share_of_its_rise_on_the_line_between_probes() -> None:
    """Half of the rise from 1 to 5 is 3, half-way from (10, 2) to (100, 4) on a log scale."""
    curve = pd.Series([1.0, 2.0, 4.0, 5.0, 3.0], index=[0, 10, 100, 1000, 10000])
    assert curves.crossing(curve, 0.5) == pytest.approx(np.sqrt(11 * 101) - 1)
    assert curves.crossing(curve, 0.25) == pytest.approx(10)
    assert curves.crossing(curve, 1.0) == pytest.approx(1000)


def test_a_curve_that_begins_at_its_highest_has_crossed_at_its_first_probe() -> None:
    falling = pd.Series([5.0, 4.0], index=[20, 30])
    assert curves.crossing(falling, 0.5) == 20


def test_rank_correlation_is_of_orders_alone() -> None:
    assert curves.rank_correlation([1, 2, 3], [10.0, 100.0, 1000.0]) == 1.0
    assert curves.rank_correlation([1, 2, 3], [3.0, 2.5, -7.0]) == -1.0
    assert curves.rank_correlation([1, 2, 3, 4], [1.0, 3.0, 2.0, 4.0]) == pytest.approx(0.8)
    # Ties share a rank: 1.5, 1.5, 3 beside 1, 2, 3.
    assert curves.rank_correlation([5, 5, 6], [1, 2, 3]) == pytest.approx(np.sqrt(3) / 2)


def test_what_is_constant_has_no_rank_correlation() -> None:
    assert np.isnan(curves.rank_correlation([1, 1, 1], [1, 2, 3]))
    assert np.isnan(curves.rank_correlation([1, 2, 3], [4, 4, 4]))


def test_agreement_weighs_a_pair_by_how_far_it_is_apart() -> None:
    """x misplaces the pair that is 1 apart, of pairs 1, 3 and 4 apart."""
    assert curves.agreement([2, 1, 3], [0.0, 1.0, 4.0]) == pytest.approx((3 + 4 - 1) / 8)
    assert curves.agreement([1, 2, 3], [0.0, 1.0, 4.0]) == 1.0
    assert curves.agreement([3, 2, 1], [0.0, 1.0, 4.0]) == -1.0
    assert curves.agreement([7, 7, 7], [0.0, 1.0, 4.0]) == 0.0
    assert np.isnan(curves.agreement([1, 2, 3], [4, 4, 4]))
