"""The claims of Figure 5.1 see which regime is quicker and where it is better."""

from __future__ import annotations

import numpy as np
import pytest

from ntkexp.claims.verdict import Verdict, judge
from ntkexp.papers.lazy.claims.yin_yang import CLAIMS
from ntkexp.results.record import Record
from tests.papers import made
from tests.papers.made import rows

LEDGER = {claim.id.removeprefix("lazy-fig51-"): claim for claim in CLAIMS}
LEVELS = (0.5, 0.4)


def record(gaps: dict[str, float], slower: float, start: float = 1.0) -> Record:
    """Losses that differ by `gaps` in the areas; linear runs are `slower` times as slow."""
    wobble = [[[0.01], [-0.01]]]
    areas = {"level": LEVELS, "seed": (0, 1), "area": gaps}
    regimes = {"regime": ("non_linear", "linear"), "level": LEVELS, "seed": range(3)}
    steps = rows(regimes, step=[[[100, 200, 300]], [np.multiply(slower, [100, 200, 300])]])
    progress = {"regime": regimes["regime"], "step": (0, 100)}
    # A point an area, the differences all alike where those of the areas are not as told.
    differences = [max(0.0, gap) if slower > 1 else 0.1 for gap in gaps.values()]
    tables = {
        "yin_yang_areas": rows(areas, non_linear=1 + np.add(wobble, [*gaps.values()]), linear=1.0),
        # One linear run does not come there.
        "yin_yang_reached": steps.query("regime == 'non_linear' or seed < 2"),
        "yin_yang_progress": rows(
            progress, low=0.0, median=[[1.0, 0.5], [1.0, 0.5 * start]], high=1.0
        ),
        "yin_yang_maps": rows(
            {"level": LEVELS, "area": gaps}, difference=differences, standard_error=0.01
        ),
    }
    return made.record("lazy/yin_yang_maps", tables)


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
