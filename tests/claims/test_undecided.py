"""What a claim's own readings and control leave open is counted as such, never as a verdict."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd
import pytest

from ntkexp.claims import rendering
from ntkexp.claims.claim import Case, Claim, Control, Section, above, below, times
from ntkexp.claims.ledger import ledger
from ntkexp.claims.verdict import Finding, Verdict, judge
from ntkexp.results.record import Record
from tests.papers.made import evals, record


def made(experiment: str, value: float, seed: int = 0, needed: float = 0.0) -> Record:
    tables = {name: pd.DataFrame({"value": [number]})
              for name, number in (("found", value), ("needed", needed))}  # fmt: skip
    return record(experiment, {"evals": evals(), **tables}, seed=seed)


def value(records: Sequence[Record], name: str = "found") -> list[Case]:
    return [Case("", one.seed, float(one.tables[name]["value"][0])) for one in records]


CLAIM = Claim(
    id="waves",
    figure="3.4",
    says="It grows",
    paper="grows",
    number="itself",
    experiments=("periods", "printed"),
    tables=("found",),
    statistic=value,
    holds=above(0.0),
)
BOTH = replace(CLAIM, readings={"periods": "k in periods", "printed": "as printed"})
NEEDED = Control(
    "updates needed over those given", lambda runs: value(runs, "needed"), below(1.0), times
)


def judged(claim: Claim, values: Mapping[str, Sequence[float]], needed: float = 0.0) -> Finding:
    each = [(name, seed, one) for name, found in values.items() for seed, one in enumerate(found)]
    return judge(claim, [made(name, one, seed, needed) for name, seed, one in each])


@pytest.mark.parametrize(
    ("periods", "printed", "verdict"),
    [
        ((1, 2), (3, 4), Verdict.holds),
        ((-1, -2), (-3, -4), Verdict.fails),
        ((1, -2), (-3, 4), Verdict.partly),
        ((1, 2), (-3, -4), Verdict.not_decidable),
        ((1, -2), (-3, -4), Verdict.not_decidable),
        ((1, 2), (), Verdict.holds),
        ((), (-1,), Verdict.fails),
        ((), (), Verdict.no_runs),
    ],
)
def test_two_readings_that_differ_decide_nothing_and_one_alone_decides(
    periods: Sequence[float], printed: Sequence[float], verdict: Verdict
) -> None:
    assert judged(BOTH, {"periods": periods, "printed": printed}).verdict is verdict


def test_a_control_of_one_reading_leaves_the_other_decided() -> None:
    runs = [made("periods", 1.0), made("printed", -1.0, needed=2.0)]
    finding = judge(replace(BOTH, control=NEEDED), runs)
    assert finding.verdict is Verdict.holds
    assert [case.reading for case in finding.decided] == ["k in periods"]


def test_readings_that_differ_are_told_with_their_numbers() -> None:
    finding = judged(BOTH, {"periods": (1, 2), "printed": (-3,)})
    assert finding.measured == (
        "k in periods: 1.5 ± 0.71; as printed: -3 (k in periods: holds; as printed: fails)"
    )
    (entry,) = json.loads(rendering.as_json([finding]))
    assert entry["undecided"] == "k in periods: holds; as printed: fails"
    assert entry["missing"] == []


def test_an_experiment_without_a_reading_serves_all() -> None:
    """A joint claim has its control by either reading; a reading that has no runs is missing."""

    def over_control(records: Sequence[Record]) -> list[Case]:
        of = {one.experiment: case.value for one, case in zip(records, value(records), strict=True)}
        control = of.pop("control", 0.0)
        return [Case("", 0, number - control) for number in of.values()]

    claim = replace(
        BOTH, experiments=(*BOTH.experiments, "control"), jointly=True, statistic=over_control
    )
    assert judged(claim, {"periods": [3], "control": [1]}).missing == ("printed",)
    alone = judged(replace(claim, jointly=False, statistic=value), {"control": [1], "printed": [2]})
    assert {case.reading for case in alone.cases} == {"as printed"}
    finding = judged(claim, {"periods": [3], "printed": [0], "control": [1]})
    assert [case.value for case in finding.cases] == [2, -1]
    assert finding.verdict is Verdict.not_decidable


@pytest.mark.parametrize("found", [1.0, -1.0])
def test_a_control_takes_a_holds_as_well_as_a_fails(found: float) -> None:
    claim = replace(CLAIM, control=NEEDED)
    lost = judged(claim, {"periods": (found,), "printed": (found,)}, needed=109.0)
    assert lost.verdict is Verdict.not_decidable
    assert lost.measured == (
        f"{found:.0f} (2 of 2 not decidable, updates needed over those given: 109 ×; asked ≤ 1 ×)"
    )
    decided = judged(claim, {"periods": (found,), "printed": (found,)}, needed=0.5)
    assert decided.verdict is (Verdict.holds if found > 0 else Verdict.fails)
    assert decided.undecided == ""


def test_cases_that_can_decide_do_so_without_those_that_cannot() -> None:
    runs = [made("periods", 1.0, seed=0, needed=2.0), made("periods", -1.0, seed=1, needed=0.1)]
    finding = judge(replace(CLAIM, control=NEEDED), runs)
    assert finding.verdict is Verdict.fails
    assert "1 of 2 not decidable" in finding.measured


def test_a_verdict_that_decides_nothing_is_counted_like_the_others() -> None:
    finding = judged(BOTH, {"periods": (1,), "printed": (-3,)})
    assert rendering.summary([finding]) == (
        "1 claims: 0 holds, 0 fails, 0 partly, 1 not decidable, 0 no runs"
    )


# Their runs keep their tables under names of their own.
ON_SHAPES = {
    "linearised-tail",
    *(f"curvature-fig{figure}-seconds" for figure in ("43", "44", "45", "46", "a2")),
    "curvature-fig45-small-batches",
    "curvature-fig45-small-batches-ra",
    *(f"spectral-figa13-{end}" for end in ("decay", "low", "smoother")),
}


@pytest.mark.parametrize("claim", ledger(), ids=lambda claim: claim.id)
def test_no_claim_of_the_text_rests_on_its_config_alone(claim: Claim) -> None:
    assert claim.tables or claim.section is Section.identity or claim.id in ON_SHAPES
