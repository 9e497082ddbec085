"""Which runs count: one choice for the ledger, the figures and the report."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from ntkexp.results.reading import typed
from ntkexp.results.record import Record
from ntkexp.results.select import (
    came_far_enough,
    choose,
    choose_jointly,
    has_collapsed,
    runs_to_show,
)
from tests.papers.alignment.claim_examples import disk, ranks
from tests.papers.made import evals, record

(DISK,) = disk()
TABLES = DISK.tables


def test_runs_of_one_setting_are_chosen_full_size_first() -> None:
    small = [record("disk", TABLES, seed=seed, **{"scale.name": "small"}) for seed in range(3)]
    paper = [record("disk", TABLES, seed=seed, **{"scale.name": "paper"}) for seed in range(2)]
    assert choose([*small, *paper]) == paper
    assert [run.scale for run in choose(small)] == ["small"] * 3


def test_of_altered_runs_those_on_the_most_images_count_before_those_of_more_seeds() -> None:
    few = [record("disk", TABLES, seed=s, **{"data.train_examples": 2000}) for s in range(2)]
    more = record("disk", TABLES, **{"data.train_examples": 5000})
    every = record("disk", TABLES, **{"data.train_examples": None})
    assert choose([*few, more]) == [more]
    assert choose([*few, more, every]) == [every]


def test_of_a_seed_that_was_run_twice_the_longer_run_counts() -> None:
    short = {name: frame.replace({"step": {2000: 900}}) for name, frame in TABLES.items()}
    one = record("disk", short, **{"optim.steps": 900})
    other = record("disk", TABLES, **{"optim.steps": 2000})
    assert choose([other, one]) == [other]
    assert choose([other, one], lambda run: run.iteration < 1000) == [one]


def lossy(*losses: float, **config: object) -> Record:
    """A run whose training loss at its probes is this."""
    steps = [1000 * number for number in range(len(losses))]
    evals = pd.DataFrame({"step": steps, "split": "train", "subset": "all", "loss": losses})
    return record("disk", {"evals": evals.assign(accuracy=0.5)}, **config)


def test_a_run_that_lost_again_what_it_had_learned_counts_only_for_a_figure_without_another() -> (
    None
):
    learned = lossy(2.3, 0.8, 0.9, 0.7)
    memory_lost = lossy(2.3, 0.8, 0.3, 0.9, 2.2)
    assert choose([learned, memory_lost]) == [learned]
    assert runs_to_show([learned, memory_lost]) == [learned]
    assert choose([memory_lost]) == []
    assert runs_to_show([memory_lost]) == [memory_lost]


def test_of_two_settings_with_as_many_seeds_that_of_the_longest_run_counts() -> None:
    uneven = [lossy(*5 * [0.7], seed=0), lossy(*2 * [0.7], seed=1)]
    other = {"data": {"train": "other images"}}
    even = [replace(lossy(*3 * [0.7], seed=seed), life=other) for seed in range(2)]
    assert choose([*even, *uneven]) == uneven


@pytest.mark.parametrize(
    ("losses", "collapsed"),
    [
        ((2.3, 0.3, 2.09), False),  # less than nine tenths
        ((2.3, 0.3, 2.11), True),
        ((2.3, 2.299, 2.298), False),  # slow, but it learns
        ((2.3, 2.5), False),  # never came down
        ((2.3,), False),
    ],
)
def test_nine_tenths_of_what_the_loss_came_down_are_a_collapse(
    losses: tuple[float, ...], collapsed: bool
) -> None:
    assert has_collapsed(lossy(*losses)) is collapsed


def test_runs_on_other_images_are_another_setting() -> None:
    runs = [
        replace(record("disk", TABLES, seed=seed), life={"data": {"train": checksum}})
        for seed, checksum in ((0, "a"), (1, "a"), (2, "b"))
    ]
    assert choose(runs) == runs[:2]


def test_a_net_of_fewer_channels_is_narrow() -> None:
    (full,) = ranks(["vgg19_clean"], *5 * [100])
    channels = {"model.base": 16, "scale.name": "paper"}
    narrow = record("vgg19_clean", full.tables, **channels, **{"model.name": "vgg"})
    assert (full.scale, narrow.scale) == ("paper", "narrow")
    # LeNet5 has six as it was published.
    lenet = record("linearised/lenet", full.tables, **{"model.name": "lenet5", "model.base": 6})
    assert lenet.scale == "paper"
    swept = record("complexity_channels", full.tables, **{"model.base": 16})
    assert swept.scale == "paper"


def test_experiments_are_compared_at_one_scale_only() -> None:
    slow, fast = ranks(["slow"], *5 * [100]), ranks(["fast"], *5 * [100])
    narrow = [record("slow", slow[0].tables, **{"model.name": "vgg", "model.base": 16})]
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
    run = replace(DISK, typed=words)
    if "model.base=16" in words:
        run = replace(run, config={**run.config, "model.name": "vgg", "model.base": 16})
    assert run.scale == scale


def test_a_sweep_over_two_keys_is_one_setting_with_every_pair_of_values(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ntkexp.results.record.axes", lambda name: ("model.width", "optim.lr"))
    runs = [
        record("disk", TABLES, **{"model.width": width, "optim.lr": rate})
        for width in (8, 16)
        for rate in (0.1, 0.2)
    ]
    # Another key that differs makes it another setting, with fewer runs.
    other = record("disk", TABLES, **{"model.width": 8, "optim.lr": 0.3, "data.noise": 0.5})
    chosen = choose([*runs, other])
    assert sorted(run.swept for run in chosen) == sorted(run.swept for run in runs)
    assert all(run.setting == runs[0].setting for run in chosen)


def test_a_sweep_over_a_component_keeps_the_run_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ntkexp.results.record.axes", lambda name: ("optim",))
    sgd = record("disk", TABLES, **{"optim.name": "sgd", "optim.momentum": 0.9})
    adam = record("disk", TABLES, **{"optim.name": "adam", "optim.beta2": 0.999})
    assert sorted(run.config["optim.name"] for run in choose([sgd, adam])) == ["adam", "sgd"]


def test_members_of_other_seeds_are_the_experiment_as_it_stands() -> None:
    words = ["ntkexp", "train", "+exp=lazy/rates_mlp", "members.seed=range(1)", "optim.lr=1e-6"]
    assert typed(words, "lazy/rates_mlp") == ()
    three, one = (
        replace(
            record("lazy/rates_mlp", TABLES, **{"optim.lr": rate}),
            decides={"members.seed": str(seeds), "members.transform.alpha": "[1]"},
        )
        for rate, seeds in ((1e-4, [0, 1, 2]), (1e-6, [0]))
    )
    assert choose([three, one]) == sorted([three, one], key=lambda run: run.run)


def test_what_an_experiment_sweeps_is_read_from_its_file() -> None:
    swept = record("complexity_width", {}, **{"model.width": 64})
    assert (swept.axes, swept.axis) == (("model.width",), 64.0)
    assert record("easy_difficult_depth", {}).axes == ("model.depth",)  # and the seed
    assert record("disk", {}).axes == record("unknown", {}).axes == ()


def test_a_figure_shows_a_run_that_came_far_before_others_and_a_short_one_if_there_is_none() -> (
    None
):
    short = replace(record("disk", TABLES), typed=("optim.steps=20",))
    assert runs_to_show([short]) == [short]
    far = record("disk", TABLES, **{"model.width": 512})
    assert runs_to_show([short, far]) == [far]


@pytest.mark.parametrize(("iteration", "far"), [(2999, False), (3000, True)])
def test_three_thousand_iterations_are_far_whatever_the_command_set(
    iteration: int, far: bool
) -> None:
    curve = evals(train=(0.5, 0.5), test=(0.5, 0.5), steps=(0, iteration))
    run = record("disk", {"evals": curve})
    assert came_far_enough(replace(run, typed=("optim.steps=9999",))) is far
    assert came_far_enough(run)  # its experiment's own end


def test_a_sweep_over_files_of_one_run_is_one_setting() -> None:
    def beginning_with(file: str, width: int) -> Record:
        config = {
            "weights.run": "lazy/spurious_plain",
            "weights.set.model.width": width,
            "weights.file": file,
            "weights.id": f"of {width}",
        }
        one = record("lazy/kernel_after", TABLES, **config)
        return replace(one, decides={"weights": f"run:of {width}/{file}"})

    swept = [beginning_with(file, 8) for file in ("weights.0.pt", "weights.118.pt")]
    other = beginning_with("weights.0.pt", 16)
    assert len({one.setting for one in swept}) == 1
    assert other.setting != swept[0].setting


def test_a_key_that_follows_what_is_swept_is_swept_with_it() -> None:
    def of_width(data: float, probe: float) -> Record:
        config = {"data.width": data, "probe.kernel_spectrum.width": probe}
        return record("spectral/kernel_noise", TABLES, **config)

    assert len({of_width(width, width).setting for width in (0.5, 1.0, 2.0)}) == 1
