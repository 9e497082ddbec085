"""Figure 4: the gap is judged where the network has learned its task."""

from __future__ import annotations

import pytest

from ntkexp.claims.verdict import Verdict, judge
from ntkexp.papers.linearised.claims.directions import CLAIMS
from tests.papers.linearised.test_eigenfunction_claims import record

LEDGER = {claim.id.removeprefix("linearised-directions-"): claim for claim in CLAIMS}
JS = (1, 10, 100, 400)


@pytest.mark.parametrize(
    ("network", "linear", "rank", "gap"),
    [
        ([0.99, 0.95, 0.92, 0.5], [0.9, 0.8, 0.7, 0.5], Verdict.holds, Verdict.holds),
        ([0.92, 0.95, 0.99, 0.999], [0.9, 0.94, 0.98, 0.99], Verdict.fails, Verdict.fails),
    ],
)
def test_the_ledger_of_figure_4(
    network: list[float], linear: list[float], rank: Verdict, gap: Verdict
) -> None:
    runs = [
        record("linearised/separable", network, js=JS),
        record("linearised/separable_linear", linear, js=JS),
    ]
    assert judge(LEDGER["rank"], runs).verdict is rank
    finding = judge(LEDGER["gap"], runs)
    assert finding.verdict is gap
    learned = [(a - b) for a, b in zip(network, linear, strict=True) if a >= 0.9]
    assert finding.cases[0].value == pytest.approx(sum(learned) / len(learned))
