"""T13 and T14: what the kept networks of Figure 1 show, ten seeds of each task."""

from __future__ import annotations

from pathlib import Path

import pytest

from ntkexp.claims.ledger import ledger
from ntkexp.claims.verdict import Verdict, judge
from ntkexp.papers.adaptive.claims.figures import cosine_of_fit
from ntkexp.results.reading import collect
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
        ("adaptive-eq19-last-proportional", Verdict.fails),
        ("adaptive-eq19-rest-residual", Verdict.fails),
        ("adaptive-eq9-kernel", Verdict.partly),
        ("adaptive-s32-larger-b", Verdict.holds),
        ("adaptive-s32-more-change", Verdict.fails),
        ("adaptive-s32-only-last", Verdict.fails),
        ("adaptive-s32-residual-near-zero", Verdict.holds),
    ],
)
def test_t13_the_verdict_on_the_kept_networks_is_the_one_the_pages_tell(
    claim: str, verdict: Verdict, records: list[Record]
) -> None:
    judged(claim, verdict, records)


@pytest.mark.parametrize("claim", ["adaptive-s4-rescaled", "adaptive-s4-final-larger"])
def test_t14_the_final_kernel_is_a_larger_adapted_one(claim: str, records: list[Record]) -> None:
    judged(claim, Verdict.holds, records)


def test_the_cosine_of_the_best_combination_is_that_of_the_fit_that_was_kept(
    records: list[Record],
) -> None:
    """From its coefficients and the norms of the kernels."""
    (record,) = records
    found = {
        seed: cosine_of_fit(rows)
        for (task, seed), rows in record.tables["adapted_cosines"].groupby(["data.targets", "seed"])
        if task == "linear"
    }
    for seed, value in found.items():
        own = {
            name: table[(table["seed"] == seed) & (table["data.targets"] == "linear")]
            for name, table in record.tables.items()
            if "data.targets" in table
        }
        pair = own["adapted_cosines"].set_index(["first", "second"])
        fits = own["adapted_fits"]
        fit = fits[(fits["label"] == "residual") & (fits["parts"] == 2)].iloc[0]
        # In units of the initial kernel's norm.
        a, b = fit["a"], fit["b"] / pair.at[("initial", "residual"), "ratio"]
        between = pair.at[("initial", "residual"), "cosine"]
        square = a**2 + b**2 + 2 * a * b * between
        # A least-squares fit is as long as the part of K along it.
        assert value == pytest.approx(
            square**0.5 * pair.at[("initial", "average"), "ratio"], rel=1e-4
        )
