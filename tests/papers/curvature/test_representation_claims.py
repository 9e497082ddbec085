"""Every claim of chapter 3 holds with tables that show it and fails with those that do not."""

from __future__ import annotations

import pytest
from scipy import stats

from ntkexp.claims.verdict import Verdict, judge
from ntkexp.papers.curvature.claims.representations import (
    CLAIMS,
    as_rare,
    cells_ahead,
    cells_behind,
    first_in_solves,
)
from ntkexp.results.record import Record
from tests.papers.made import record, rows

LEDGER = {claim.id: claim for claim in CLAIMS}
KINDS = ("diagonal", "quasi_diagonal", "kfac", "ekfac")
STEPS = (0, 10, 20, 30)
WHICH = {"step": STEPS, "of": ("mc", "exact"), "kind": KINDS}
GOOD = {"ekfac": 0.1, "kfac": 0.2, "quasi_diagonal": 0.3, "diagonal": 0.4}


def run(experiment: str, holds: bool) -> Record:
    """KFAC's inverse and EKFAC's products are the best of all, or the worst; traces are exact but
    for KFAC's, or all far off."""
    sign = 1 if holds else -1

    def product(kind: str, direction: int, **_: object) -> float:
        return 0.5 - sign * GOOD[kind] + 0.001 * direction

    def solve(kind: str, damping: float, **_: object) -> float:
        return 1.0 if damping == 1 else 0.5 + sign * 0.1 * (kind == "kfac")

    trace = {"kfac": 1.5 if holds else 1.01}
    tables = {
        "fisher_solves": rows(
            {**WHICH, "damping": (1e-3, 1.0), "direction": range(3)},
            cosine=solve,
        ),
        "fisher_products": rows(
            {**WHICH, "direction": range(4)},
            cosine=product,
            form=lambda kind, direction, **_: 1 + (0.5 + sign * GOOD[kind]) + 0.001 * direction,
        ),
        "fisher_traces": rows(
            WHICH,
            trace=lambda kind, **_: trace.get(kind, 1.0001 if holds else 1.2),
            exact=1.0,
            sampling=0.01,
        ),
        "class_pair_kernel": rows(
            {"step": STEPS, "row": range(4), "column": range(4)},
            value=lambda step, row, column: sign * step * ((row < 2) == (column < 2)) / 100,
        ),
        "class_pair_accuracy": rows(
            {"step": STEPS, "pair": range(2)},
            accuracy=lambda step, **_: 0.6 + (step / 100 if holds else 0.0),
        ),
    }  # fmt: skip
    return record(experiment, tables)


@pytest.mark.parametrize("name", LEDGER)
@pytest.mark.parametrize("holds", [True, False])
def test_a_claim_is_judged_by_what_its_tables_show(name: str, holds: bool) -> None:
    claim = LEDGER[name]
    found = judge(claim, [run(experiment, holds) for experiment in claim.experiments])
    assert found.verdict is (Verdict.holds if holds else Verdict.fails), found.measured
    assert found.missing == ()


def test_cells_without_use_or_without_error_are_left_out() -> None:
    table = run("curvature/representations_vgg11", True).tables["fisher_solves"]
    table = table.assign(network="VGG11")
    assert first_in_solves(table) == 1
    table.loc[table["damping"] == 1, "cosine"] = 0.05
    table.loc[(table["step"] == 0) & (table["kind"] == "ekfac"), "cosine"] = 0.98
    assert first_in_solves(table) == pytest.approx(3 / 5)  # the two of step 0 are EKFAC's


def test_a_lead_is_of_two_standard_errors_of_paired_directions() -> None:
    table = run("curvature/representations_vgg11", True).tables["fisher_products"]
    table = table[table["of"] == "mc"].assign(network="VGG11")
    assert cells_ahead(table, "cosine") == dict.fromkeys(KINDS[:3], 4)
    assert cells_behind(table, "cosine") == dict.fromkeys(KINDS[:3], 0)
    kfac = (table["kind"] == "kfac") & (table["step"] == 0)
    table.loc[kfac, "cosine"] = [0.0, 0.9, 0.0, 0.9]
    assert cells_ahead(table, "cosine")["kfac"] == 3


@pytest.mark.parametrize("t", [0.0, 0.5, 2.62, 6.62, 200.0])
def test_a_distance_in_few_traces_errors_is_told_as_a_normal_number(t: float) -> None:
    assert as_rare(t) == pytest.approx(stats.norm.isf(stats.t.sf(t, df=4)), abs=1e-12)
