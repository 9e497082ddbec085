"""The claims of Figure 5.4 see an order that is reversed, and a minority that is learned first."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from ntkexp.claims.verdict import Verdict, judge
from ntkexp.papers.lazy.claims.quadratic import CLAIMS
from ntkexp.results.record import Record
from tests.papers import made
from tests.papers.made import rows

LEDGER = {claim.id: claim for claim in CLAIMS}
TIMES = np.linspace(0, 60, 1201)


def record(rate: Callable[[int, str], float], gap: float) -> Record:
    """Losses that fall exponentially, example by example; minorities that differ by `gap`."""
    regimes = ("linearised", "non_linear")
    curves = rows(
        {"example": [1], "regime": regimes, "group": range(1, 6), "time": TIMES},
        loss=lambda regime, group, time, **_: np.exp(-rate(group, regime) * time),
    )
    places = ((2, "lapack"), (2, "two_modes"), (2, "rotation"), (3, "lapack"))
    levels = [
        rows(
            {"draw": range(3), "level": (0.2, 0.4), "regime": regimes},
            example=example,
            basis=basis,
            minority=(0.5, 0.5 + gap),
        )
        for example, basis in places
    ]
    tables = {
        "quadratic_curves": curves.astype({"group": str}),
        "quadratic_levels": pd.concat(levels, ignore_index=True),
    }
    constants = {"study.core": 1.0, "study.q": 5, "study.n": 20}
    return made.record("lazy/quadratic_examples", tables, **{"study.seed": 0}, **constants)


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
