"""The claims of Figure 5.1 see which regime is quicker and where it is better."""

from __future__ import annotations

import pandas as pd
import pytest

from ntkexp.claims.verdict import Verdict, judge
from ntkexp.papers.lazy.claims.yin_yang import CLAIMS
from ntkexp.results.record import Record

LEDGER = {claim.id.removeprefix("lazy-fig51-"): claim for claim in CLAIMS}
LEVELS = (0.5, 0.4)


def record(gaps: dict[str, float], slower: float, start: float = 1.0) -> Record:
    """Losses that differ by `gaps` in the areas; linear runs are `slower` times as slow."""
    areas = [
        {"level": level, "seed": seed, "area": area, "non_linear": 1 + gap + wobble, "linear": 1.0}
        for level in LEVELS
        for seed, wobble in ((0, 0.01), (1, -0.01))
        for area, gap in gaps.items()
    ]
    reached = [
        {"regime": regime, "level": level, "seed": seed, "step": int(factor * 100 * (seed + 1))}
        for regime, factor in (("non_linear", 1.0), ("linear", slower))
        for level in LEVELS
        for seed in range(3)
        # One linear run does not come there.
        if not (regime == "linear" and seed == 2)
    ]
    progress = [
        {"regime": regime, "step": step, "low": 0.0, "median": median, "high": 1.0}
        for regime, later in (("non_linear", 0.5), ("linear", 0.5 * start))
        for step, median in ((0, 1.0), (100, later))
    ]
    # A point an area, the differences all alike where those of the areas are not as told.
    maps = [
        {"level": level, "difference": max(0.0, gap) if slower > 1 else 0.1, "standard_error": 0.01}
        for level in LEVELS
        for gap in gaps.values()
    ]
    name = "lazy/yin_yang_maps"
    tables = {
        "yin_yang_areas": pd.DataFrame(areas),
        "yin_yang_reached": pd.DataFrame(reached),
        "yin_yang_progress": pd.DataFrame(progress),
        "yin_yang_maps": pd.DataFrame(maps),
    }
    return Record(name, "run", {"name": name}, tables)


AS_TOLD = {"open": -0.1, "discs": 0.1, "between": 0.1}
REVERSED = {area: -gap for area, gap in AS_TOLD.items()}


@pytest.mark.parametrize("name", LEDGER)
def test_each_claim_can_hold_and_fail(name: str) -> None:
    claim = LEDGER[name]
    assert judge(claim, [record(AS_TOLD, slower=5.0)]).verdict is Verdict.holds
    assert judge(claim, [record(REVERSED, slower=0.2, start=1.1)]).verdict is Verdict.fails


def test_a_linear_run_that_did_not_come_there_counts_as_slower() -> None:
    values = [case.value for case in LEDGER["speed-up"].statistic([record(AS_TOLD, 3.0)])]
    assert values == [3.0, 3.0]
