"""The parts of a claim: units, intervals, cases; and how far a run must have come."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from ntkexp.claims.claim import (
    Interval,
    above,
    below,
    between,
    percent,
    plain,
    times,
    within_factor,
)
from ntkexp.claims.horizon import either, iteration, memorised
from ntkexp.claims.ledger import ledger
from ntkexp.claims.verdict import Verdict, judge
from ntkexp.results.record import Record
from tests.papers.made import evals, record


@pytest.mark.parametrize(
    ("unit", "value", "spread", "formatted"),
    [
        (plain, 0.12345, None, "0.123"),
        (plain, 999.4, None, "999"),
        (plain, 1000.0, None, "1,000"),
        (plain, -12345.6, None, "-12,346"),
        (plain, math.inf, None, "inf"),
        (percent, 0.0132, 0.00123, "1.32 ± 0.12 %"),
        (times, 7.468, None, "7.47 ×"),
    ],
)
def test_a_value_is_written_in_its_unit(unit, value, spread, formatted) -> None:
    assert unit.formatted(value, spread) == formatted


@pytest.mark.parametrize(
    ("interval", "inside", "outside", "formatted"),
    [
        (above(0.5), (0.5, 9.0, math.inf), (0.499, -1.0), "≥ 50 %"),
        (below(0.5), (0.5, -math.inf), (0.501, 9.0), "≤ 50 %"),
        (between(0.1, 0.2), (0.1, 0.15, 0.2), (0.09, 0.21), "10 to 20 %"),
        (within_factor(0.2, 2), (0.1, 0.4), (0.09, 0.41), "10 to 40 %"),
        (between(1.0, 1.0), (1.0,), (0.999, 1.001), "100 %"),
    ],
)
def test_an_interval_has_its_bounds_and_says_them(
    interval: Interval, inside: Sequence[float], outside: Sequence[float], formatted: str
) -> None:
    assert all(value in interval for value in inside)
    assert not any(value in interval for value in (*outside, math.nan))
    assert interval.formatted(percent) == formatted


def come(step: int, train: float = 1.0, test: Sequence[float] = (0.1, 0.5)) -> Record:
    table = evals((0.0, 0.0, 0.0, 0.0, train), (0.0, 0.0, 0.0, *test))
    table["step"] = table["step"].replace(10000, step)
    return record("net", {"evals": table})


def test_a_run_is_evidence_from_its_horizons_iteration_on() -> None:
    horizon = iteration(5000)
    assert horizon.description == "iteration 5,000"
    assert horizon.iterations == 5000
    assert not horizon.memorised
    assert [horizon(come(step)) for step in (4999, 5000, 5001)] == [False, True, True]


def test_who_knows_more_than_the_true_labels_has_begun_to_memorise() -> None:
    """A fifth of the labels drawn anew: .82 are known to who knows the true ones alone."""
    horizon = memorised(5000, 0.2)
    assert horizon.description == "iteration 5,000, with a train accuracy above 0.82"
    assert horizon.memorised
    assert horizon(come(5000, train=0.83))
    assert not horizon(come(5000, train=0.81))
    assert not horizon(come(4999, train=0.83))
    assert not memorised(5000, 0.5)(come(5000, train=0.55))
    nothing = record("net", {})
    assert not horizon(nothing)


def test_either_of_two_horizons_is_enough() -> None:
    horizon = either(iteration(5000), memorised(4000, 0.2))
    assert horizon.iterations == 5000
    assert horizon.description.startswith("iteration 5,000 or iteration 4,000, with")
    assert horizon(come(5000, train=0.0))
    assert horizon(come(4000, train=0.9))
    assert not horizon(come(4000, train=0.1))


def test_without_runs_no_claim_of_any_paper_has_a_verdict() -> None:
    for claim in ledger():
        found = judge(claim, [])
        assert (found.verdict, found.missing) == (Verdict.no_runs, claim.experiments), claim.id
