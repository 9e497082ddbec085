"""What Figures 4 and 13 are asked: starts, slopes and lengths of two curves, worked out by hand."""

from __future__ import annotations

import pytest

from ntkexp.papers.alignment.claims import hierarchy
from tests.papers.alignment.claim_examples import subsets

# The easy curve rises from 0 to 1 and has made a tenth of it at 1 + t = 10, half at 1 + t = 100;
# the difficult one is halfway up at 1 + t = 1000.
EASY, DIFFICULT = (0.0, 0.1, 0.5, 1.0, 1.0), (0.1, 0.1, 0.1, 0.2, 0.3)
STEPS = (0, 9, 99, 999, 9999)
ALIGNMENT = subsets("cka", (EASY, DIFFICULT), STEPS)


def test_the_easy_curve_starts_with_a_tenth_of_its_rise() -> None:
    assert hierarchy.start(ALIGNMENT) == pytest.approx(9)
    assert hierarchy.duration(ALIGNMENT) == pytest.approx(10)
    assert hierarchy.highest_easy(ALIGNMENT) == 1.0


def test_the_slope_is_per_decade_from_a_tenth_to_a_half_of_the_rise() -> None:
    assert hierarchy.steepness(ALIGNMENT) == pytest.approx(0.4)


def test_the_difficult_curve_beside_the_easy_one() -> None:
    assert hierarchy.highest_ratio(ALIGNMENT) == pytest.approx(1 / 0.3)
    assert hierarchy.behind(ALIGNMENT) == pytest.approx(0.1 / 0.5)
    assert hierarchy.late_rise(ALIGNMENT) == pytest.approx(0.3 / 0.1)
    assert hierarchy.delay(ALIGNMENT) == pytest.approx(10)


def test_the_ratio_is_above_half_of_its_highest_for_two_decades() -> None:
    """Ratios 1, 5, 5 and 3.3: from 100 on, and nothing is known after the last probe."""
    late = subsets("cka", (EASY, DIFFICULT))
    assert hierarchy.decades_above_half(late) == pytest.approx(2.0)
    assert hierarchy.iterations_above_half(late) == pytest.approx(9900)
