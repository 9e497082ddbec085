"""A claim that sets experiments side by side says which runs it leaves out, and why."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from ntkexp.claims.claim import Case, Claim, above
from ntkexp.claims.horizon import OWN_END
from ntkexp.claims.verdict import Verdict, judge
from ntkexp.results.record import Record


def run(experiment: str, *typed: str, base: int = 64) -> Record:
    config = {"name": experiment, "model.name": "vgg", "model.base": base}
    made = Record(experiment, f"{experiment}{base}", config, {"evals": pd.DataFrame()})
    return replace(made, typed=typed)


CLAIM = Claim(
    id="slower",
    figure="5.2",
    says="It is positive",
    paper="positive",
    number="itself",
    experiments=("slow", "fast"),
    tables=(),
    statistic=lambda records: [Case("", one.seed, 1.0) for one in records],
    holds=above(0.0),
    threshold="the sign",
    horizon=OWN_END,
    jointly=True,
)


def test_runs_of_a_scale_that_others_do_not_have_are_named() -> None:
    slow, fast = run("slow"), run("fast")
    narrow, altered = run("slow", base=16), run("fast", "optim.lr=3", base=63)
    finding = judge(CLAIM, [slow, fast, narrow, altered])
    assert finding.records == (slow, fast)
    assert finding.notes[-2:] == (
        "slow/slow16: left out, its scale is narrow; slower is judged on those of scale paper",
        "fast/fast63: left out, its scale is altered (optim.lr=3); slower is judged on those of "
        "scale paper",
    )


def test_where_no_scale_is_common_to_all_every_run_is_named() -> None:
    finding = judge(CLAIM, [run("slow", base=16), run("fast")])
    assert finding.verdict is Verdict.no_runs
    assert [note.partition(": left out, its scale is ")[2] for note in finding.notes] == [
        f"{scale}; slower finds no scale of which all its experiments have runs on the same images"
        for scale in ("narrow", "paper")
    ]


def test_runs_whose_images_are_divided_by_other_numbers_are_not_set_side_by_side() -> None:
    """A config without the option has the published constants; a study has no data at all."""

    def on_images(experiment: str, **standardise: str) -> Record:
        made = run(experiment)
        return replace(made, config={**made.config, "data.name": "cifar2", **standardise})

    own = {"data.standardise": "own"}
    former, slow, fast = on_images("slow"), on_images("slow", **own), on_images("fast", **own)
    assert judge(CLAIM, [former, fast]).verdict is Verdict.no_runs
    assert judge(CLAIM, [slow, fast]).verdict is Verdict.holds
    assert judge(CLAIM, [slow, run("fast")]).verdict is Verdict.holds


def test_what_is_judged_on_all_its_runs_names_none() -> None:
    assert not any("left out" in note for note in judge(CLAIM, [run("slow"), run("fast")]).notes)


def test_a_run_that_waits_for_others_is_not_among_the_missing() -> None:
    finding = judge(CLAIM, [run("slow")])
    assert finding.verdict is Verdict.no_runs
    assert finding.notes == ("slow/slow64: waits for runs of fast",)
    assert finding.missing == ("fast",)
    assert judge(CLAIM, []).missing == ("slow", "fast")
