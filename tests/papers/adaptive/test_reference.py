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


def judged(claim: str, verdict: Verdict, records: list[Record]) -> None:
    found = judge(LEDGER[claim], records)
    assert found.verdict is verdict, found.measured
    assert found.seeds == 10


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("adaptive-fig1-sign-higher", Verdict.holds),
        ("adaptive-fig3-near-zero", Verdict.holds),
        ("adaptive-fig1-combination", Verdict.fails),
        ("adaptive-eq19-last-layer", Verdict.fails),
    ],
)
def test_t13_the_verdict_on_the_kept_networks_is_the_one_the_pages_tell(
    claim: str, verdict: Verdict, records: list[Record]
) -> None:
    judged(claim, verdict, records)


@pytest.mark.parametrize("claim", ["adaptive-s4-rescaled", "adaptive-s4-final-larger"])
def test_t14_the_final_kernel_is_a_larger_adapted_one(claim: str, records: list[Record]) -> None:
    judged(claim, Verdict.holds, records)
