"""T13 and T14: what the kept networks of Figure 1 show, ten seeds of each task."""

from __future__ import annotations

from pathlib import Path

import pytest

from ntkexp.claims.ledger import ledger
from ntkexp.claims.verdict import Verdict, judge
from ntkexp.results.collect import collect
from ntkexp.results.record import Record

TOP = Path(__file__).parents[3]
LEDGER = {claim.id: claim for claim in ledger(["adaptive"])}


@pytest.fixture(scope="module")
def records() -> list[Record]:
    return collect([TOP / "outputs" / "reference" / "adaptive" / "label_kernel"])


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("adaptive-fig1-sign-higher", Verdict.holds),
        ("adaptive-fig3-near-zero", Verdict.holds),
        ("adaptive-fig1-combination", Verdict.fails),
        ("adaptive-s4-rescaled", Verdict.holds),
        ("adaptive-s4-final-larger", Verdict.holds),
        ("adaptive-eq19-last-layer", Verdict.fails),
    ],
)
def test_the_verdict_on_the_kept_networks_is_the_one_the_pages_tell(
    claim: str, verdict: Verdict, records: list[Record]
) -> None:
    found = judge(LEDGER[claim], records)
    assert found.verdict is verdict, found.measured
    assert found.seeds == 10
