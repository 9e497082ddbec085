"""The measures that the ledger compares with C are those that the probe writes."""

from __future__ import annotations

from ntkexp.papers.alignment.claims.measures import NEYSHABUR, OTHERS
from ntkexp.results.collect import collect
from tests.results.reference.test_thinning import REFERENCE


def test_every_measure_of_the_ledger_is_measured() -> None:
    records = collect([REFERENCE / "complexity_width"])
    measured = {name for record in records for name in record.tables["measures"]["measure"]}
    assert {*OTHERS, *NEYSHABUR} <= measured
