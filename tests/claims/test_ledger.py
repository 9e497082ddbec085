"""Every claim of the ledger holds where it should and fails where it should."""

from __future__ import annotations

import math

import pytest
from claim_examples import EXAMPLES, disk, ranks, record, sweeps

from ntkexp.claims import LEDGER
from ntkexp.claims.claim import Case, above, percent, plain
from ntkexp.claims.record import altered, choose, choose_jointly
from ntkexp.claims.verdict import Finding, Verdict, judge

BY_ID = {claim.id: claim for claim in LEDGER}


def test_every_claim_has_its_own_id_and_examples() -> None:
    assert len(BY_ID) == len(LEDGER)
    assert set(EXAMPLES) == set(BY_ID)


def test_every_figure_of_the_paper_has_claims() -> None:
    assert {claim.figure for claim in LEDGER} >= set(range(1, 15))


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


def test_one_setting_is_enough_for_a_measure_to_miss_the_gap() -> None:
    wrong = [run for run in sweeps("l2_norm", follows=False) if run.experiment.endswith("width")]
    right = [run for run in sweeps("l2_norm", follows=True) if not run.experiment.endswith("width")]
    assert judge(BY_ID["fig06-l2-norm"], wrong + right).verdict is Verdict.holds


def test_a_setting_without_runs_leaves_open_whether_a_measure_misses_the_gap() -> None:
    right = [run for run in sweeps("l2_norm", follows=True) if run.experiment.endswith("width")]
    assert judge(BY_ID["fig06-l2-norm"], right).verdict is Verdict.no_runs


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
    assert choose([*small, *paper], "paper") == paper
    assert [run.scale for run in choose(small, "paper")] == ["small"] * 3


def test_a_net_of_fewer_channels_is_narrow() -> None:
    (full,) = ranks(["vgg19_clean"], *5 * [100])
    narrow = record("vgg19_clean", full.tables, **{"model.base": 16, "scale.name": "paper"})
    assert (full.scale, narrow.scale) == ("paper", "narrow")
    swept = record("complexity_channels", full.tables, **{"model.base": 16})
    assert swept.scale == "paper"


def test_experiments_are_compared_at_one_scale_only() -> None:
    slow, fast = ranks(["slow"], *5 * [100]), ranks(["fast"], *5 * [100])
    narrow = [record("slow", slow[0].tables, **{"model.base": 16})]
    assert choose_jointly({"slow": narrow, "fast": fast}, "paper") == []
    assert choose_jointly({"slow": slow + narrow, "fast": fast}, "paper") == slow + fast


def test_overrides_that_change_an_experiment_are_told() -> None:
    words = "ntkexp train -m +exp=complexity_width model.width=8,16 seed=0,1 device=cpu"
    assert altered(words.split(), "complexity_width") == ()
    more = [*words.split(), "optim.epochs=3", "paths.outputs=there"]
    assert altered(more, "complexity_width") == ("optim.epochs=3",)
