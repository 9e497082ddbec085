"""Another data set, network or optimiser than an experiment chose."""

from __future__ import annotations

import re
from itertools import cycle, islice
from pathlib import Path

import pytest

from ntkexp.compose import swaps
from ntkexp.compose.experiment_file import find
from ntkexp.compose.finalise import finalise, forget_parents
from ntkexp.compose.overrides import options_of, plain_errors, typed_keys
from ntkexp.compose.plan import Plan
from ntkexp.errors import UserError
from ntkexp.experiments import experiments
from tests.conftest import Ntkexp
from tests.tiny_runs import composer

TRAINED = [one.name for one in experiments() if one.command == "train"]
# A component of the house that needs a word more.
NEEDS = {
    "model=torch": ["model.of=torchvision.models.resnet18"],
    "optim=torch": ["optim.of=torch.optim.RMSprop"],
    "data=scored_mnist": ["data.score.run=lazy/c_scores"],
    "data=scored_cifar10": ["data.score.run=lazy/c_scores_cifar"],
    "data=eigenfunctions": ["data.pairs.run=linearised/pairs_mlp"],
    "data=linear_separable": ["data.directions.run=linearised/directions_lenet"],
}
SWAPS = [f"{group}={name}" for group in ("data", "model", "optim") for name in options_of(group)]


def planned(*words: str) -> Plan:
    """The plan of the run that these words make."""
    swaps.forget()
    with plain_errors("train", words):
        return finalise(composer("train").compose(words), frozenset(typed_keys(words)))


@pytest.mark.parametrize(
    ("words", "written_out", "said"),
    [
        (
            ["+exp=mlp_mnist", "model=lenet5"],
            ["data=mnist", "model=lenet5", "optim.lr=0.02", "optim.epochs=100"],
            [
                "model.depth=6 of exp=mlp_mnist is mlp's: left out",
                "model.width=80 of exp=mlp_mnist is mlp's: left out",
            ],
        ),
        (
            ["+exp=mlp_mnist", "optim=adam"],
            [
                *("data=mnist", "model.depth=6", "model.width=80"),
                *("optim=adam", "optim.lr=0.02", "optim.epochs=100"),
            ],
            [],
        ),
        (
            ["+exp=disk", "model=bias_free_mlp", "model.width=30"],
            [
                *("data=disk", "model=bias_free_mlp", "model.depth=6", "model.width=30"),
                *("model.init=default", "optim.lr=0.01", "optim.batch_size=null"),
                *("optim.steps=2000", "optim.epochs=null", "optim.stop_loss=null"),
                *("probing.growth=1.5", "probe=[eigenfunctions]"),
            ],
            [],
        ),
        (
            ["+exp=lazy/yin_yang", "data=disk", "members=null", "probe=[spectrum]"],
            [
                *("data=disk", "model.depth=3", "model.width=60", "model.init=default"),
                *("optim.lr=0.01", "optim.momentum=0", "optim.batch_size=null"),
                *("optim.steps=250000", "optim.epochs=null", "optim.stop_loss=null"),
                *("optim.stop_after_losses=true", "probing.losses=[0.5,0.4,0.3]"),
                *("probing.growth=1.5", "keep.updates=100", "probe=[spectrum]"),
            ],
            [
                f"evaluate.subsets={name} of exp=lazy/yin_yang: data=disk has no such subset: "
                "left out"
                for name in ("discs", "between", "open")
            ],
        ),
        (
            ["+exp=vgg19_noise50", "data=mnist", "data.size=32"],
            [
                *("data=mnist", "data.size=32", "data.noise=0.5", "model=vgg19"),
                *("optim.lr=0.01", "optim.epochs=200"),
            ],
            [],
        ),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_what_both_have_stays_and_the_rest_falls_away(
    capsys: pytest.CaptureFixture[str], words: list[str], written_out: list[str], said: list[str]
) -> None:
    plan = planned(*words)
    assert capsys.readouterr().err.splitlines() == said
    assert plan.folder.name == planned(*written_out).folder.name


def test_a_variant_counts_as_typed() -> None:
    config = planned("+exp=complexity_channels", "model=vgg11").config
    assert config.model.depth == 11


def test_values_that_are_no_options_any_more_fall_away(capsys: pytest.CaptureFixture[str]) -> None:
    planned("+exp=linearised/resnet18_standard", "model=lenet5", "data.index=10")
    assert (
        "data.pairs.set.study.network.residual_scale=${model.residual_scale} of "
        "exp=linearised/resnet18: lenet5 has no residual_scale: left out"
    ) in capsys.readouterr().err.splitlines()


def test_linear_pieces_are_of_one_input(capsys: pytest.CaptureFixture[str]) -> None:
    plan = planned("+exp=spectral/equal", "data=disk", "members=null")
    assert "linear_pieces" not in plan.config.probe
    assert (
        "probe.linear_pieces of exp=spectral/equal: is of networks of one input, data=disk has "
        "inputs of 2; expected one number, as in data=sines: left out"
    ) in capsys.readouterr().err.splitlines()
    with pytest.raises(UserError, match=r"^probe\.linear_pieces: is of networks of one input"):
        planned("+exp=disk", "probe=[linear_pieces]")


def test_axes_and_members_that_the_other_lacks_fall_away(ntkexp: Ntkexp) -> None:
    sweep = ntkexp("train", "--dry-run", "+exp=complexity_width", "model=lenet5")
    assert "the axis model.width of exp=complexity_width: lenet5 has no width: left out" in (
        sweep.stderr.splitlines()
    )
    assert sweep.returncode == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["+exp=mlp_mnist", "model=lenet5", "model.depth=3"], "model.depth: no such key"),
        (["+exp=mlp_mnist", "model=lenet", "model.base=3"], "model=lenet: no such option"),
        (
            ["+exp=lazy/waterbirds", "model=lenet5"],
            "has weights of model=resnet18, the network is model=lenet5; expected weights.run=null",
        ),
        (["+exp=disk", "data=mnist"], "none of those of exp=disk can measure this; expected probe"),
        (["+exp=vgg19_noise50", "data=mnist"], r"data\.size=32 puts zeros around these"),
        (["+exp=vgg19_noise50", "data.size=20"], "data.size=20: puts zeros around the images of"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else "",
)
def test_what_was_typed_is_never_dropped(words: list[str], told: str) -> None:
    with pytest.raises(UserError, match=told):
        planned(*words)


def test_probes_that_cannot_measure_the_data_fall_away(capsys: pytest.CaptureFixture[str]) -> None:
    config = planned("+exp=easy_difficult_noise", "data=disk").config
    assert list(config.probe) and not config.probe.alignment.subsets
    assert "data=disk has no difficult part" in capsys.readouterr().err
    with pytest.raises(UserError, match="data=disk has no difficult part"):
        planned("+exp=easy_difficult_noise", "data=disk", "probe.alignment.subsets=true")


def test_probes_that_are_typed_take_the_place_of_the_experiments(
    capsys: pytest.CaptureFixture[str],
) -> None:
    first = ["+exp=easy_difficult_noise", "scale=tiny"]
    for typed, names in (
        ("[]", set()),
        ("[spectrum]", {"spectrum"}),
        ("[alignment]", {"alignment"}),
    ):
        assert {*planned(*first, f"probe={typed}").config.probe} == names
    assert (
        "probe.alignment of exp=easy_difficult_noise: probe=[spectrum]" in capsys.readouterr().err
    )


def test_an_experiment_of_ones_own_drops_what_it_goes_on_from(
    inside: Ntkexp, tmp_path: Path
) -> None:
    (tmp_path / "exp").mkdir()
    file = tmp_path / "exp" / "mine.yaml"
    file.write_text(
        "defaults:\n  - mlp_mnist\n  - override /model: lenet5\nname: mine\nmodel:\n  base: 4\n"
    )
    words = ("train", "--config-dir", str(tmp_path), "+exp=mine")
    planned_so = inside(*words, "--dry-run")
    assert "model.depth=6 of exp=mlp_mnist is mlp's: left out" in planned_so.stderr.splitlines()
    shown = inside(*words, "--cfg", "job").stdout
    assert "base: 4" in shown and "depth" not in shown
    file.write_text(file.read_text() + "  depth: 3\n")
    refused = inside(*words)
    assert refused.returncode == 2
    assert f"{file.relative_to(tmp_path)}:7: model.depth: no such key" in refused.stderr


@pytest.mark.usefixtures("made_images")
def test_such_runs_are_read_like_any_other(inside: Ntkexp) -> None:
    small = ["+exp=complexity_width", "scale=tiny", "progress=false", "optim.steps=3"]
    assert inside("train", *small, "model=lenet5").returncode == 0
    assert inside("train", "+exp=disk", "scale=tiny", "optim.steps=3", "optim=adam").returncode == 0
    for words in (
        ("list", "complexity_width"),
        ("claims", "--json"),
        ("figures", "--exp", "complexity_width", "alignment"),
        ("figures", "alignment", "1", "4"),
    ):
        read = inside(*words)
        assert "Traceback" not in read.stderr and "KeyError" not in read.stderr, words
        assert read.returncode in (0, 2), words


def names_a_way_out(line: str) -> bool:
    """True if a refusal has a word in it that one types."""
    groups = "data|model|optim|probe|weights|objective|transform"
    return re.search(rf"\b({groups})[\w.]*=", line) is not None


def check(experiment: str, swap: str) -> None:
    group, _, name = swap.partition("=")
    chosen = find(experiment)
    own = chosen is not None and chosen.chosen(group) == name
    words = [f"+exp={experiment}", swap, *([] if own else NEEDS.get(swap, []))]
    try:
        planned(*words)
    except UserError as refusal:
        assert names_a_way_out(str(refusal)), (words, str(refusal))


@pytest.mark.parametrize("first", range(0, len(TRAINED), 12))
def test_every_experiment_takes_another_component_or_names_a_word(first: int) -> None:
    """Each experiment and each component once."""
    for number, swap in enumerate(islice(cycle(SWAPS), first, first + 12), first):
        check(TRAINED[number % len(TRAINED)], swap)


@pytest.mark.on_demand
@pytest.mark.parametrize("experiment", TRAINED)
def test_every_component_goes_into_every_experiment(experiment: str) -> None:
    forget_parents()
    for swap in SWAPS:
        check(experiment, swap)
