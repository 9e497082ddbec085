"""The claims of Figure 5.4 see an order that is reversed, and a minority that is learned first."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from ntkexp.claims.verdict import Verdict, judge
from ntkexp.papers.lazy.claims.quadratic import CLAIMS
from ntkexp.results.record import Record

LEDGER = {claim.id: claim for claim in CLAIMS}
TIMES = np.linspace(0, 60, 1201)


def record(rate: Callable[[int, str], float], gap: float) -> Record:
    """Losses that fall exponentially, example by example; minorities that differ by `gap`."""
    curves = [
        pd.DataFrame(
            {
                "example": 1,
                "regime": regime,
                "group": str(number),
                "time": TIMES,
                "loss": np.exp(-rate(number, regime) * TIMES),
            }
        )
        for regime in ("linearised", "non_linear")
        for number in range(1, 6)
    ]
    levels = [
        {
            "example": example,
            "basis": basis,
            "draw": draw,
            "regime": regime,
            "level": level,
            "minority": 0.5 + (gap if regime == "non_linear" else 0.0),
        }
        for example, basis in ((2, "lapack"), (2, "two_modes"), (2, "rotation"), (3, "lapack"))
        for draw in range(3)
        for regime in ("linearised", "non_linear")
        for level in (0.2, 0.4)
    ]
    name = "lazy/quadratic_examples"
    tables = {
        "quadratic_curves": pd.concat(curves, ignore_index=True),
        "quadratic_levels": pd.DataFrame(levels),
    }
    constants = {"study.core": 1.0, "study.q": 5, "study.n": 20}
    return Record(name, "run", {"name": name, "study.seed": 0} | constants, tables)


def flipping(number: int, regime: str) -> float:
    return 1.0 / number if regime == "linearised" else 0.2 * number**2


def alike(number: int, regime: str) -> float:
    return 1.0 / number


@pytest.mark.parametrize("name", list(LEDGER))
def test_what_the_text_says_holds_where_it_is_so(name: str) -> None:
    assert judge(LEDGER[name], [record(flipping, 0.1)]).verdict is Verdict.holds


@pytest.mark.parametrize("name", [name for name in LEDGER if not name.endswith("order-linear")])
def test_it_fails_where_it_is_not(name: str) -> None:
    assert judge(LEDGER[name], [record(alike, -0.1)]).verdict is Verdict.fails


def test_one_basis_with_the_other_order_is_enough() -> None:
    one = record(flipping, 0.1)
    levels = one.tables["quadratic_levels"]
    turned = (levels["basis"] == "rotation") & (levels["draw"] == 2) & (levels["level"] == 0.4)
    levels.loc[turned & (levels["regime"] == "non_linear"), "minority"] = 0.3
    found = judge(LEDGER["lazy-fig54-noise"], [one])
    assert found.verdict is Verdict.partly
    assert [case.value > 0 for case in found.cases] == [True, False, True]


def test_what_is_left_of_the_next_mode() -> None:
    claim = LEDGER["lazy-fig54-order-sequential"]
    (case,) = judge(claim, [record(flipping, 0.1)]).cases
    # With rates r and s it is .1^(s / r) when the other is .1.
    quick = np.mean([0.1 ** (k**2 / (k + 1) ** 2) for k in range(1, 5)])
    slow = np.mean([0.1 ** (k / (k + 1)) for k in range(1, 5)])
    assert case.value == pytest.approx(quick - slow, abs=0.02)


def test_the_linear_order_fails_where_it_is_reversed() -> None:
    def reversed_(number: int, regime: str) -> float:
        return 0.2 * number

    claim = LEDGER["lazy-fig54-order-linear"]
    assert judge(claim, [record(reversed_, 0.1)]).verdict is Verdict.fails


def test_an_example_that_is_never_learned_decides_nothing_for_the_order() -> None:
    def stuck(number: int, regime: str) -> float:
        return 0.0 if number == 3 else 1.0 / number

    claim = LEDGER["lazy-fig54-order-linear"]
    assert judge(claim, [record(stuck, 0.1)]).verdict is not Verdict.holds
