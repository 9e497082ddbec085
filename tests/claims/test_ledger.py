"""Every claim of the ledger holds where it should and fails where it should."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace

import pandas as pd
import pytest
from claim_examples import EXAMPLES, LONG, disk, notebook, ranks, record, sweeps

from ntkexp.claims.claim import Case, above, percent, plain
from ntkexp.claims.ledger import ledger
from ntkexp.claims.rendering import commands
from ntkexp.claims.verdict import Finding, Verdict, judge, judge_all
from ntkexp.results.record import Record, typed
from ntkexp.results.select import choose, choose_jointly

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
    found = judge(BY_ID[name], EXAMPLES[name](False))
    assert found.verdict is Verdict.fails, found.measured


@pytest.mark.parametrize("name", BY_ID)
def test_without_runs_there_is_no_verdict(name: str) -> None:
    found = judge(BY_ID[name], [])
    assert found.verdict is Verdict.no_runs
    assert found.missing == BY_ID[name].experiments


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


@pytest.mark.parametrize("name", ["fig02-max-growth", "fig02-mean-growth"])
def test_what_is_said_of_fitted_networks_needs_one(name: str) -> None:
    runs = [without_fit(run) for run in EXAMPLES[name](True)]
    assert judge(BY_ID[name], runs).verdict is Verdict.no_runs


@pytest.mark.parametrize("name", ["fig02-late-rise", "fig02-low-while-learning"])
def test_what_is_said_of_overfitting_needs_it(name: str) -> None:
    runs = [without_fall(run) for run in EXAMPLES[name](True)]
    assert judge(BY_ID[name], runs).verdict is Verdict.no_runs


def without_fit(run: Record) -> Record:
    return with_accuracy(run, lambda frame: frame["accuracy"].clip(upper=0.9))


def without_fall(run: Record) -> Record:
    return with_accuracy(run, lambda frame: frame["accuracy"].cummax())


def with_accuracy(run: Record, change: Callable[[pd.DataFrame], pd.Series]) -> Record:
    evals = run.tables["evals"]
    return replace(run, tables={**run.tables, "evals": evals.assign(accuracy=change(evals))})


def test_a_growing_effective_rank_is_no_second_rise() -> None:
    """As in a net that fits from the start: it rises long before the test accuracy falls."""
    runs = ranks(["vgg19_noise50"], 600, 100, 300, 450, 550)
    assert judge(BY_ID["fig02-low-while-learning"], runs).verdict is Verdict.fails


def test_one_probe_is_no_minimum() -> None:
    name = "fig02-notebook-early-minimum-noise20"
    spike = notebook("vgg19_noise20", lambda step: 100 if step == LONG[20] else 140)
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
    found = judge(BY_ID["fig06-others"], sweeps("l2_norm", follows=True))
    assert [case.value for case in found.cases] == [1.0]


def test_of_two_settings_nothing_is_said_of_the_other_measures() -> None:
    two = [run for run in sweeps("l2_norm", True) if not run.experiment.endswith("width")]
    assert judge(BY_ID["fig06-others"], two).verdict is Verdict.no_runs


def test_networks_that_have_not_fitted_have_no_place_in_figure_6() -> None:
    assert judge(BY_ID["fig06-complexity"], sweeps("complexity", True, 0.5)).cases == ()


def test_small_nets_say_nothing_of_four_million_parameters() -> None:
    small = [run for run in EXAMPLES["fig06-four-million"](True) if run.axis < 4]
    assert judge(BY_ID["fig06-four-million"], small).verdict is Verdict.no_runs


def test_every_verdict_without_runs_names_command_and_cost() -> None:
    for finding in judge_all(LEDGER, []):
        for line in commands([finding]):
            assert re.fullmatch(r"ntkexp (train|study) .*\+exp=\w+.*  \(.+\)", line), line
    (released,) = commands([judge(BY_ID["fig02-notebook-level-clean-100000"], [])])
    assert "recipe=released" in released
    assert "optim.epochs=256" in released
    assert "6.2 hours of a core" in released


def test_a_command_is_named_once_for_the_longest_of_its_horizons() -> None:
    names = ["fig02-notebook-level-clean-10000", "fig02-notebook-level-clean-100000"]
    (line,) = commands([judge(BY_ID[name], []) for name in names])
    assert "to iteration 100,000" in line


def test_every_threshold_says_where_it_comes_from() -> None:
    origins = ("the text", "ours", "read off", "the sign", "the theorem", "rounding", "half",
               "nearer", "the lemma")  # fmt: skip
    for claim in LEDGER:
        assert claim.threshold.startswith(origins), claim.id


def test_two_networks_are_no_sweep() -> None:
    few = [run for run in sweeps("complexity", follows=True) if run.axis <= 2]
    assert judge(BY_ID["fig06-complexity"], few).verdict is Verdict.no_runs


def test_measured_tells_mean_and_spread() -> None:
    cases = tuple(Case("", seed, value) for seed, value in enumerate((0.01, 0.02, 0.03)))
    assert Finding(BY_ID["fig01-ratio-at-start"], cases, tuple(disk())).measured == "2 ± 1 %"
    assert plain.told(12345.6) == "12,346"
    assert percent.told(0.5) == "50 %"


def test_runs_of_one_setting_are_chosen_full_size_first() -> None:
    tables = disk()[0].tables
    small = [record("disk", tables, seed=seed, **{"scale.name": "small"}) for seed in range(3)]
    paper = [record("disk", tables, seed=seed, **{"scale.name": "paper"}) for seed in range(2)]
    assert choose([*small, *paper]) == paper
    assert [run.scale for run in choose(small)] == ["small"] * 3


def test_of_a_seed_that_was_run_twice_the_longer_run_counts() -> None:
    tables = disk()[0].tables
    short = {name: frame.replace({"step": {2000: 900}}) for name, frame in tables.items()}
    one = record("disk", short, **{"optim.steps": 900})
    other = record("disk", tables, **{"optim.steps": 2000})
    assert choose([other, one]) == [other]
    assert choose([other, one], lambda run: run.iteration < 1000) == [one]


def test_runs_on_other_images_are_another_setting() -> None:
    tables = disk()[0].tables
    runs = [
        replace(record("disk", tables, seed=seed), life={"data": {"train": checksum}})
        for seed, checksum in ((0, "a"), (1, "a"), (2, "b"))
    ]
    assert choose(runs) == runs[:2]


def test_a_net_of_fewer_channels_is_narrow() -> None:
    (full,) = ranks(["vgg19_clean"], *5 * [100])
    narrow = record("vgg19_clean", full.tables, **{"model.base": 16, "scale.name": "paper"})
    assert (full.scale, narrow.scale) == ("paper", "narrow")
    swept = record("complexity_channels", full.tables, **{"model.base": 16})
    assert swept.scale == "paper"


def test_experiments_are_compared_at_one_scale_only() -> None:
    slow, fast = ranks(["slow"], *5 * [100]), ranks(["fast"], *5 * [100])
    narrow = [record("slow", slow[0].tables, **{"model.base": 16})]
    assert choose_jointly({"slow": narrow, "fast": fast}) == []
    assert choose_jointly({"slow": slow + narrow, "fast": fast}) == slow + fast


def test_overrides_that_change_an_experiment_are_told() -> None:
    words = "ntkexp train -m +exp=complexity_width model.width=8,16 seed=0,1 device=cpu"
    assert typed(words.split(), "complexity_width") == ()
    more = [*words.split(), "optim.lr=3", "optim.epochs=3", "paths.outputs=there"]
    assert typed(more, "complexity_width") == ("optim.lr=3", "optim.epochs=3")


@pytest.mark.parametrize(
    ("words", "scale"),
    [
        (("evaluate.train_examples=5000", "optim.epochs=24", "optim.stop_loss=null"), "paper"),
        (("probing.spacing=list", "probing.steps=[0,5]", "optim.steps=330"), "paper"),
        (("probing.examples=50",), "altered"),
        (("optim.lr=0.1",), "altered"),
        (("data.train_examples=10000", "model.base=16"), "altered"),
    ],
)
def test_how_long_and_how_often_one_looks_leaves_the_papers_scale_alone(
    words: tuple[str, ...], scale: str
) -> None:
    run = replace(disk()[0], typed=words)
    if "model.base=16" in words:
        run = replace(run, config={**run.config, "model.base": 16})
    assert run.scale == scale
