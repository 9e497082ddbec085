"""The measures that the ledger compares with C are those that the probe writes."""

from __future__ import annotations

from ntkexp.papers.alignment.claims.measures import NEYSHABUR, OTHERS
from ntkexp.results.reading import collect
from ntkexp.scripts.alignment import fig06_complexity as fig06
from ntkexp.scripts.trained import SeedRuns
from tests.scripts.tools.test_thinning import REFERENCE


def test_every_measure_of_the_ledger_is_measured() -> None:
    records = collect([REFERENCE / "complexity_width"])
    measured = {name for record in records for name in record.tables["measures"]["measure"]}
    assert {*OTHERS, *NEYSHABUR} <= measured


def test_figure_6_draws_every_measure_of_the_ledger_by_its_own_name() -> None:
    """No row changes its measure from panel to panel; the large ones have C and the stand-in."""
    assert {name for name, _ in fig06.OTHERS} == {*OTHERS, NEYSHABUR[0]}
    record = collect([REFERENCE / "complexity_width"])[0]
    frames = {name: record.tables[name].assign(run=record.run) for name in fig06.TABLES}
    table = fig06.values([SeedRuns((record,), frames)], "model.width")
    last = frames["measures"][frames["measures"]["step"] == frames["measures"]["step"].max()]
    written = last.set_index("measure")["value"]
    assert table["spectral_frobenius"].item() == written["spectral_frobenius"]
