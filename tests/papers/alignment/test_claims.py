"""Every claim of the main paper holds where it should and fails where it should."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from ntkexp.claims.claim import above
from ntkexp.claims.horizon import has_overfitted
from ntkexp.claims.ledger import ledger
from ntkexp.claims.rendering import commands
from ntkexp.claims.verdict import Verdict, judge, judge_all
from ntkexp.results.record import Record
from tests.papers.alignment.claim_examples import (
    EXAMPLES,
    LONG,
    disk,
    notebook,
    ranks,
    record,
    sweeps,
)

LEDGER = ledger(["alignment"])
BY_ID = {claim.id: claim for claim in LEDGER}


def test_every_claim_has_its_own_id_and_examples() -> None:
    assert len(BY_ID) == len(LEDGER)
    assert set(EXAMPLES) == set(BY_ID)


def test_every_figure_of_the_paper_has_claims() -> None:
    assert {claim.figure for claim in LEDGER} >= set(map(str, range(1, 15)))


@pytest.mark.parametrize("name", BY_ID)
def test_a_claim_holds_with_tables_that_show_it(name: str) -> None:
    found = judge(BY_ID[name], EXAMPLES[name](True))
    assert found.verdict is Verdict.holds, found.measured
    assert found.missing == ()


@pytest.mark.parametrize("name", BY_ID)
def test_a_claim_fails_with_tables_that_show_its_opposite(name: str) -> None:
    """And no more than the tables that it asks for."""
    runs = [
        replace(run, tables={table: run.tables[table] for table in BY_ID[name].tables})
        for run in EXAMPLES[name](False)
    ]
    found = judge(BY_ID[name], runs)
    assert found.verdict is Verdict.fails, found.measured


def test_a_claim_that_only_some_seeds_show_holds_partly() -> None:
    good, bad = disk(at_start=0.015), disk(at_start=0.5)
    second = [record("disk", run.tables, seed=1) for run in bad]
    found = judge(BY_ID["fig01-ratio-at-start"], good + second)
    assert found.verdict is Verdict.partly
    assert "1 of 2 hold" in found.measured


def test_a_claim_is_judged_on_the_panels_that_have_runs() -> None:
    some = [run for run in EXAMPLES["fig02-t40"](True) if run.experiment != "vgg19_noise20"]
    found = judge(BY_ID["fig02-t40"], some)
    assert found.verdict is Verdict.holds
    assert found.missing == ("vgg19_noise20",)


def test_a_run_that_cannot_tell_gives_no_verdict() -> None:
    assert math.nan not in above(-math.inf)
    (whole,) = disk()
    few = whole.tables["eigenvalues"].query("rank < 5")
    found = judge(BY_ID["fig01-anisotropy"], [record("disk", {"eigenvalues": few})])
    assert found.verdict is Verdict.no_runs


def test_a_run_cut_short_is_no_evidence() -> None:
    """`optim.steps=20`: nothing is said of iteration 2000."""
    (whole,) = disk()
    short = {name: frame.replace({"step": {2000: 20}}) for name, frame in whole.tables.items()}
    (run,) = [replace(whole, tables=short, typed=("optim.steps=20",))]
    assert judge(BY_ID["fig01-ratio-at-end"], [run]).verdict is Verdict.no_runs
    assert judge(BY_ID["fig01-ratio-at-start"], [run]).verdict is Verdict.holds
    (mlp,) = EXAMPLES["fig04-kmnist-later"](True)
    cut = replace(mlp, typed=("optim.epochs=2",))
    assert judge(BY_ID["fig04-kmnist-later"], [cut]).verdict is Verdict.no_runs
    assert judge(BY_ID["fig04-kmnist-later"], [replace(mlp, finished=False)]).cases == ()


def test_a_fall_within_the_standard_error_or_of_one_look_is_no_overfitting() -> None:
    curves = {True: (0.1, 0.3, 0.7, 0.69, 0.69), False: (0.1, 0.3, 0.7, 0.697, 0.69)}
    for overfitted, test in curves.items():
        (run,) = ranks(["vgg19_noise50"], 600, 300, 100, 200, 300, test=test)
        assert has_overfitted(run) is overfitted  # .7 of 10,000 images: .0046
    (one,) = ranks(["vgg19_noise50"], 600, 300, 100, 200, 300, test=(0.1, 0.3, 0.7, 0.7, 0.5))
    assert not has_overfitted(one)


OF_OVERFITTING = ("fig02-low-while-learning", "fig02-late-rise", "fig02-erank-against-accuracy",
                  "fig02-accuracy-falls", "fig03-peaks-together")  # fmt: skip


@pytest.mark.parametrize("name", OF_OVERFITTING)
def test_a_wide_run_that_ends_before_it_overfits_leaves_overfitting_to_others(name: str) -> None:
    """It ends at iteration 3,000 with its best test accuracy."""
    (narrow,) = (with_channels(without_fit(run), 16) for run in EXAMPLES[name](True))
    shorter = {
        table: rows.replace({"step": {10_000: 3000}}) for table, rows in narrow.tables.items()
    }
    wide = without_fall(with_channels(replace(narrow, tables=shorter), 64))
    assert (narrow.scale, wide.scale, wide.iteration) == ("narrow", "paper", 3000)
    assert judge(BY_ID[name], [wide, narrow]).records == (narrow,)


@pytest.mark.parametrize("name", [*OF_OVERFITTING, "fig03-test-above-train", "fig03-clean-labels"])
def test_who_knows_every_label_is_judged_beside_who_does_not(name: str) -> None:
    (fitted,) = EXAMPLES[name](True)
    (other,) = map(without_fit, EXAMPLES[name](False))
    found = judge(BY_ID[name], [fitted, with_channels(other, 16)])
    assert list(found.panels) == ["not memorised", "memorised"]


def with_channels(run: Record, channels: int) -> Record:
    return replace(run, config={**run.config, "model.name": "vgg", "model.base": channels})


def without_fit(run: Record) -> Record:
    return with_accuracy(run, lambda frame: frame["accuracy"].clip(upper=0.9))


def without_fall(run: Record) -> Record:
    return with_accuracy(run, lambda frame: frame["accuracy"].cummax())


def with_accuracy(run: Record, change: Callable[[pd.DataFrame], pd.Series]) -> Record:
    evals = run.tables["evals"]
    return replace(run, tables={**run.tables, "evals": evals.assign(accuracy=change(evals))})


@pytest.mark.parametrize(
    ("name", "without"),
    [
        ("fig02-max-growth", without_fit),
        ("fig02-mean-growth", without_fit),
        ("fig02-late-rise", without_fall),
        ("fig03-peaks-together", without_fall),
    ],
)
def test_what_is_said_of_fitting_or_overfitting_needs_it(
    name: str, without: Callable[[Record], Record]
) -> None:
    assert judge(BY_ID[name], [*map(without, EXAMPLES[name](True))]).verdict is Verdict.no_runs


def test_a_growing_effective_rank_is_no_second_rise() -> None:
    """As in a net that fits from the start: it rises long before the test accuracy falls."""
    runs = ranks(["vgg19_noise50"], 600, 100, 300, 450, 550)
    assert judge(BY_ID["fig02-low-while-learning"], runs).verdict is Verdict.fails


def test_one_probe_is_no_minimum() -> None:
    name = "fig02-notebook-early-minimum-noise20"
    spike = notebook("vgg19_noise20", np.where(np.arange(len(LONG)) == 20, 100, 140))
    assert judge(BY_ID[name], spike).measured == "140"


def test_curves_of_the_notebooks_are_judged_on_the_released_recipe_alone() -> None:
    name = "fig03-notebook-layers"
    by_paper = [
        replace(run, config={**run.config, "recipe": "paper"}) for run in EXAMPLES[name](True)
    ]
    assert judge(BY_ID[name], by_paper).verdict is Verdict.no_runs


def test_a_statement_of_the_paper_is_judged_on_each_recipe_for_itself() -> None:
    claim = BY_ID["fig02-erank-drop-clean"]
    runs = [
        replace(run, config={**run.config, "recipe": recipe})
        for recipe, holds in (("paper", False), ("released", True))
        for run in EXAMPLES[claim.id](holds)
    ]
    found = {finding.recipe: finding.verdict for finding in judge_all([claim], runs)}
    assert found == {"paper": Verdict.fails, "released": Verdict.holds}


def test_one_measure_that_follows_the_gap_everywhere_is_enough_against_only() -> None:
    found = judge(BY_ID["fig06-others"], sweeps(l2_norm=True))
    assert [(case.panel, case.value) for case in found.cases] == [
        ("width", 1.0),
        ("width, rate 0.01", 1.0),
    ]


def test_figure_6_is_judged_on_means_over_seeds() -> None:
    """A second seed whose gaps run the other way, by half as much, turns nothing but the draws."""
    first, others = sweeps(complexity=True), []
    for run in first:
        table = run.tables["measures"]
        gap = table["measure"] == "gap_error"
        turned = table.assign(value=table["value"].where(~gap, -table["value"] / 2))
        tables = {**run.tables, "measures": turned}
        others.append(replace(run, config={**run.config, "seed": 1}, tables=tables))
    found = judge(BY_ID["fig06-complexity"], [*first, *others])
    assert [case.value for case in found.cases] == [1.0] * 4
    assert all(0 < case.value < 1 for case in found.also)


def test_of_two_settings_nothing_is_said_of_the_other_measures() -> None:
    two = [run for run in sweeps(l2_norm=True) if "width" not in run.experiment]
    assert judge(BY_ID["fig06-others"], two).verdict is Verdict.no_runs


def test_networks_that_have_not_fitted_have_no_place_in_figure_6() -> None:
    assert judge(BY_ID["fig06-complexity"], sweeps(0.5, complexity=True)).cases == ()


def test_small_nets_say_nothing_of_four_million_parameters() -> None:
    small = [run for run in EXAMPLES["fig06-four-million"](True) if run.axis < 4]
    assert judge(BY_ID["fig06-four-million"], small).verdict is Verdict.no_runs


def test_every_verdict_without_runs_names_command_and_cost() -> None:
    for finding in judge_all(LEDGER, []):
        for line in commands([finding]):
            known = r"ntkexp (train|study) .*\+exp=\w+.*  \(.+\)"
            unknown = r"nothing is known to bring \w+, recipe=\w+, to [^:]+: .+"
            assert re.fullmatch(f"{known}|{unknown}", line), line
    (released,) = commands([judge(BY_ID["fig02-notebook-level-clean-100000"], [])])
    assert "recipe=released" in released
    assert "optim.epochs=256" in released
    assert "6.2 hours of a core" in released


def test_who_has_not_memorised_does_not_decide_what_memorising_does() -> None:
    """Of half of the labels drawn anew .55 are known to who knows all true ones and no other."""
    for name in ("level-noise50-100000", "second-rise-noise50", "accuracy-falls"):
        claim = BY_ID[f"fig02-notebook-{name}"]
        verdicts = {known: judge(claim, notebook("vgg19_noise50", known=known)).verdict
                    for known in (0.54, 0.56)}  # fmt: skip
        assert verdicts == {0.54: Verdict.no_runs, 0.56: Verdict.fails}
        (line,) = commands([judge(claim, [])])
        assert "model.base=16 half" in line


def test_a_command_is_named_once_for_the_longest_of_its_horizons() -> None:
    names = ["fig02-notebook-level-clean-10000", "fig02-notebook-level-clean-100000"]
    (line,) = commands([judge(BY_ID[name], []) for name in names])
    assert "to iteration 100,000" in line


def test_every_threshold_says_where_it_comes_from() -> None:
    origins = ("the text", "ours", "read off", "the sign", "the theorem", "rounding",
               "nearer", "the lemma")  # fmt: skip
    for claim in LEDGER:
        assert claim.threshold.startswith(origins), claim.id


def test_two_networks_are_no_sweep() -> None:
    few = [run for run in sweeps(complexity=True) if run.axis <= 2]
    assert judge(BY_ID["fig06-complexity"], few).verdict is Verdict.no_runs
