"""Which runs count: one choice for the ledger, the figures and the report."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ntkexp.results.record import typed
from ntkexp.results.select import choose, choose_jointly
from tests.papers.alignment.claim_examples import disk, ranks, record


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
