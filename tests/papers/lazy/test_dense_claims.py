"""The claims of Figure C.9 see the order of examples and which minority is later."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from ntkexp.claims.verdict import Verdict, judge
from ntkexp.papers.lazy.claims.dense import CLAIMS, HASTY, LAZY, LEVELS
from ntkexp.results.record import Record
from tests.papers import made
from tests.papers.made import rows

LEDGER = {claim.id.removeprefix("lazy-figc9-"): claim for claim in CLAIMS}
STEPS = np.arange(200)


def record(example: int, rates: dict[float, list[float]]) -> Record:
    """Losses that fall exponentially, by alpha and example."""
    axes = {"transform.alpha": rates, "seed": range(2), "step": STEPS}
    own = np.array([*rates.values()])[:, None, None]
    loss = 0.5 * np.exp(-own * STEPS[:, None])
    table = rows({**axes, "example": range(own.shape[-1])}, loss=loss)
    options = {"data.example": example, "data.q": 2}
    return made.record("lazy/dense_examples", {"snapshot": table}, **options)


def runs(reversed_: bool) -> list[Record]:
    falling = [0.05, 0.04, 0.03, 0.02, 0.01]
    slow, quick = [0.05] * 4 + [0.01] * 2, [0.05] * 4 + [0.03] * 2
    one = {LAZY: falling, HASTY: falling[::-1]}
    two = {LAZY: quick, HASTY: slow}
    if reversed_:
        one, two = ({LAZY: of[HASTY], HASTY: of[LAZY]} for of in (one, two))
    return [record(1, one), record(2, two), record(3, two)]


@pytest.mark.parametrize("name", LEDGER)
def test_each_claim_can_hold_and_fail(name: str) -> None:
    assert judge(LEDGER[name], runs(reversed_=False)).verdict is Verdict.holds
    assert judge(LEDGER[name], runs(reversed_=True)).verdict is Verdict.fails


def test_the_minority_is_measured_where_the_majority_comes_to_a_level() -> None:
    """Where exp(-a t) / 2 of the majority is L, exp(-b t) / 2 is (2 L)^(b / a) / 2."""
    levels = 2 * np.array(LEVELS)
    expected = (levels ** (0.01 / 0.05) - levels ** (0.03 / 0.05)).mean() / 2
    found = judge(LEDGER["noise"], runs(reversed_=False))
    assert [case.value for case in found.cases] == pytest.approx([expected] * 2, abs=1e-4)


@pytest.mark.parametrize("name", ["noise", "spurious"])
def test_every_draw_of_the_weights_counts(name: str) -> None:
    kept, turned = runs(reversed_=False), runs(reversed_=True)
    of_both = [
        replace(one, tables={"snapshot": pd.concat([own[own["seed"] == 0],
                                                    other[other["seed"] == 1]])})
        for one, own, other in (
            (one, one.tables["snapshot"], two.tables["snapshot"])
            for one, two in zip(kept, turned, strict=True)
        )
    ]  # fmt: skip
    found = judge(LEDGER[name], of_both)
    assert found.verdict is Verdict.partly
    assert {case.seed for case in found.cases} == {0, 1}
