"""The ledger as people and programs read it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ntkexp.claims import rendering
from ntkexp.claims.claim import Case, plain
from ntkexp.claims.effort import command, duration
from ntkexp.claims.horizon import OVERFITTED, OWN_END, iteration
from ntkexp.claims.ledger import ledger
from ntkexp.claims.verdict import Finding, Verdict, judge, mean_and_spread
from tests.papers.alignment.claim_examples import disk, record

BY_ID = {claim.id: claim for claim in ledger(["alignment"])}
START = BY_ID["fig01-ratio-at-start"]
HELD, FAILED, OPEN = judge(START, disk()), judge(START, disk(at_start=0.5)), judge(START, [])


def test_of_several_seeds_mean_and_spread_are_told_and_how_many_hold() -> None:
    runs = [record("disk", run.tables, seed=seed)
            for seed, ratio in enumerate((0.01, 0.02, 0.9)) for run in disk(ratio)]  # fmt: skip
    finding = judge(START, runs)
    assert finding.verdict is Verdict.partly
    assert finding.measured == "31 ± 51 % (2 of 3 hold)"
    assert finding.seeds == 3
    assert mean_and_spread([2.0, 2.0]) == (2.0, None)
    assert mean_and_spread([1.0, 2.0, 3.0]) == (2.0, 1.0)


def test_panels_missing_experiments_and_a_second_number_are_told_beside_the_first() -> None:
    claim = replace(START, experiments=("disk", "disc"), unit=plain, also=("at the end", None))
    finding = Finding(
        claim,
        (Case("noise", 0, 1.0), Case("", 0, 2.0)),
        tuple(disk()),
        also=(Case("noise", 0, 4.0),),
    )
    assert finding.missing == ("disc",)
    assert finding.measured.startswith("noise: 1; 2 (")
    assert finding.measured.endswith("(no runs of disc) [at the end: noise: 4]")
    assert replace(finding, also=()).measured.endswith("(no runs of disc)")


def test_a_verdict_on_some_of_the_experiments_alone_says_on_how_many() -> None:
    claim = replace(START, experiments=("disk", "disc"))
    some, whole = judge(claim, disk()), judge(START, disk())
    assert some.verdict is Verdict.holds
    assert some.covered == "1 of 2 experiments"
    assert whole.covered == judge(claim, []).covered == ""
    told = rendering.summary([some, whole])
    assert told.endswith("0 no runs (1 of them without runs of some experiments)")
    assert rendering.SOME in rendering.notes([some])
    assert rendering.SOME not in rendering.notes([whole])


def test_the_counts_name_each_verdict_and_other_recipes_apart() -> None:
    both = replace(START, recipes=("paper", "released"))
    released = [replace(one, claim=both, recipe="released") for one in (HELD, HELD)]
    first = [replace(one, claim=both) for one in (HELD, FAILED, OPEN)]
    assert rendering.summary([*released, *first]) == (
        "3 claims: 1 holds, 1 fails, 0 partly, 0 not decidable, 1 no runs; "
        "2 claims with recipe=released: 2 holds, 0 fails, 0 partly, 0 not decidable, 0 no runs"
    )
    assert rendering.recipe_note(released[0]) == " (recipe=released)"
    assert rendering.recipe_note(HELD) == ""


def test_a_program_reads_everything_there_is_of_a_claim() -> None:
    (entry,) = json.loads(rendering.as_json([HELD]))
    assert entry == {
        "id": "fig01-ratio-at-start",
        "work": "alignment",
        "section": "paper",
        "figure": "1",
        "recipe": "paper",
        "claim": START.says,
        "paper": START.paper,
        "number": START.number,
        "holds_if": START.holds.formatted(START.unit),
        "threshold": START.threshold,
        "horizon": START.horizon.description,
        "measured": "1.5 %",
        "cases": [{"panel": "", "seed": 0, "value": pytest.approx(0.015)}],
        "seeds": 1,
        "verdict": "holds",
        "undecided": "",
        "chosen": "before",
        "scale": "paper",
        "notes": [],
        "runs": [f"disk/{HELD.records[0].run}"],
        "missing": [],
        "commands": [],
    }
    endless = replace(HELD, cases=(Case("", 0, float("inf")),))
    assert rendering.entry(endless)["cases"] == [{"panel": "", "seed": 0, "value": None}]


def test_the_summary_counts_by_figure_and_names_the_scales() -> None:
    no_figure = replace(OPEN, claim=replace(START, figure=None))
    lines = rendering.as_summary([HELD, FAILED, no_figure]).splitlines()
    assert lines[4:] == [
        "| figure | holds | fails | partly | not decidable | no runs | scale |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        "| 1 | 1 | 1 |  |  |  | paper |",
        "| text |  |  |  |  | 1 |  |",
    ]


def test_a_command_says_what_it_costs_and_that_nobody_measured_it() -> None:
    assert command("own_thing", "paper", OWN_END) == "ntkexp train +exp=own_thing  (not measured)"
    assert command("disk", "released", iteration(9)) == (
        "ntkexp train +exp=disk recipe=released  (a minute a seed)"
    )
    times = [duration(seconds) for seconds in (89, 3599, 3600, 9000)]
    assert times == ["1 minutes", "60 minutes", "1 hours", "2.5 hours"]


def test_a_horizon_that_is_no_number_of_iterations_costs_the_whole_run() -> None:
    assert "to iteration 78,200: 4.8 hours" in command("vgg19_noise50", "released", OVERFITTED)
