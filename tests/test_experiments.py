"""Every experiment there is composes, its keys make its id, and it lives for two steps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from omegaconf import DictConfig, OmegaConf

from ntkexp import components
from ntkexp import identity as identities
from ntkexp.config import TrainConfig
from ntkexp.execution.run import run
from ntkexp.experiments import Experiment, experiments
from ntkexp.identity import digest, folder_of, hashed, identity, plain
from ntkexp.references import references
from ntkexp.training.experiment import build_probes
from tests.conftest import Ntkexp
from tests.tiny_runs import composed, train

pytestmark = pytest.mark.usefixtures("made_images")

TRAINED = [experiment for experiment in experiments() if experiment.command == "train"]

# Two steps of a sliver of each; the keys a network or data set does not have are left out.
TINY = {
    "data.train_examples": 40,
    "data.test_examples": 30,
    "data.difficult_examples": 20,
    "data.grid": 5,
    "data.size": 16,
    "model.width": 8,
    "model.base": 2,
    "probing.examples": 3,
    "probe.eigenfunctions.count": 4,
    "probe.directions.count": 2,
    "probe.directions.examples": 10,
    "probe.adapted_kernel.points": 2,
    "probe.relaxed_model.points": 2,
    "probe.relaxed_model.iterations": 2,
    "probe.relaxed_model.restarts": 0,
    "optim.steps": 2,
    "progress": "false",
    "device": "cpu",
}
# Of the same components as another experiment, whose sizes and numbers alone are others.
ALIKE = {
    "complexity_width", "easy_difficult_noise", "vgg19_clean_lr003", "vgg19_noise20",
    "vgg19_noise50", "vgg19_noise50_lr003", "adaptive/ntk_unit_variance", "adaptive/robustness",
    "adaptive/unit_variance", "lazy/c_scores_vgg11_lazy", "lazy/celeba_kind", "lazy/continuum",
    "lazy/noise_mlp_lazy", "lazy/rates_mlp", "lazy/noise_cnn_lazy", "lazy/noise_resnet18_lazy",
    "lazy/noise_vgg11_lazy", "lazy/rates_vgg11", "lazy/spurious_linear_long",
}  # fmt: skip
# Two of the made classes have 35 images in CelebA's proportions.
FEWER = {"lazy/celeba_kind": 30}


def made_tiny(words: list[str]) -> list[str]:
    config = composed(words)
    there = {k: v for k, v in TINY.items() if _value(config, k) not in (None, 0)}
    # A size that is not limited is null: both kinds of images have it.
    sizes = ("data.train_examples", "data.test_examples")
    there |= {key: TINY[key] for key in sizes if key.partition(".")[2] in config.data}
    there |= {"data.train_examples": FEWER[config.name]} if config.name in FEWER else {}
    return [*words, *(f"{key}={value}" for key, value in there.items()), "optim.steps=2"]


# What the runs are made with that others begin with.
SLIVER = {"data.train_examples": 40, "optim.epochs": 1, "probing.examples": 4}
FEW_SCORES = "{study:{nets:20,ratios:[5],width:4,updates:2}}"


def with_parents(outputs: Path, words: list[str]) -> Path:
    """The folder of a run that uses another, which is made first, as `--with-parents` does."""
    config = composed(words)
    if config.weights.run is None:
        shorter = [f"data.score.set={FEW_SCORES}"]
    else:
        given = config.weights.set
        shorter = [
            f"+weights.set.{key}={value}"
            for key, value in SLIVER.items()
            if key.partition(".")[0] not in given
        ]
    config = composed([*words, *shorter, "with_parents=true", f"paths.outputs={outputs}"])
    assert run(config, folder_of(config)) == 0
    return folder_of(config)


def _value(config: DictConfig, key: str) -> object:
    """The value of a key; None where the network or the data set has no such key."""
    node: Any = plain(config)
    for part in key.split("."):
        node = node.get(part) if isinstance(node, dict) else None
    return node


@pytest.mark.parametrize("experiment", TRAINED, ids=lambda experiment: experiment.name)
def test_a_training_experiment_composes_and_its_probes_agree(experiment: Experiment) -> None:
    config = composed([f"+exp={experiment.name}"])
    typed = OmegaConf.to_object(config)
    assert isinstance(typed, TrainConfig)
    assert build_probes(typed)
    assert config.name == experiment.name
    assert config.figures


@pytest.mark.parametrize(
    "experiment",
    [
        pytest.param(one, id=one.name, marks=[pytest.mark.on_demand] if one.name in ALIKE else [])
        for one in TRAINED
    ],
)
def test_a_training_experiment_trains(experiment: Experiment, tmp_path: Path) -> None:
    words = made_tiny([f"+exp={experiment.name}"])
    run = with_parents(tmp_path, words) if experiment.needs else train(tmp_path, *words)
    assert '"finished"' in (run / "status.json").read_text()
    assert len(list(run.glob("*.parquet"))) >= 3


def leaves(node: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in node.items():
        # Members are one value: what differs between networks, and how.
        if isinstance(value, dict) and key != "members":
            yield from leaves(value, f"{where}{key}.")
        else:
            yield f"{where}{key}", value


def how(config: dict[str, Any]) -> set[str]:
    """The options of its transform that say how it is done and change no number."""
    kind = components.find("transform", config["transform"]["name"])
    return {f"transform.{key}" for key in kind.how}


def test_every_other_key_is_a_part_of_the_id() -> None:
    """Of every component that an experiment has, each key once."""
    seen: set[tuple[str, str]] = set()
    for experiment in TRAINED:
        every_key_counts(composed([f"+exp={experiment.name}"]), seen)
    assert len(seen) > 150


def every_key_counts(as_composed: DictConfig, seen: set[tuple[str, str]]) -> None:
    config, others = plain(as_composed), [key for key, _ in references(as_composed)]
    before = digest(hashed(config))
    for key, value in leaves(config):
        first = key.partition(".")[0]
        node = config[first]
        component = str(node.get("name")) if isinstance(node, dict) else ""
        if (component, key) in seen:
            continue
        seen.add((component, key))
        # By either route the outcome is the same, up to rounding.
        aside = key.endswith(".name") or key == "transform.route"
        if {key, first} & {*identities.NOT_HASHED} or aside or first == "weights":
            continue
        if key in how(config) or any(key.startswith(f"{one}.") for one in others):
            continue
        changed = OmegaConf.create(config)
        if first == "members":
            changed.members = {"seed": [7, 8]}
        else:
            OmegaConf.update(changed, key, other(value))
        assert digest(hashed(plain(changed))) != before, key


def other(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return [7] if isinstance(value, list) else "another"


def test_a_sweep_declared_in_the_experiment_runs_whole_and_a_typed_axis_overrides_it(
    inside: Ntkexp,
) -> None:
    words = ["+exp=easy_difficult_depth", "scale=small", "probe=[]", "model.width=4"]
    words += ["data.train_examples=40", "data.difficult_examples=20", "optim.steps=2"]
    words += ["data.test_examples=30", "probing.examples=6", "progress=false"]
    done = inside("train", "-m", *words)
    assert done.returncode == 0, done.stderr
    assert "4 finished" in done.stdout
    done = inside("train", "-m", *words, "model.depth=1,2,3")
    assert done.returncode == 0, done.stderr
    assert "6 jobs: 4 finished, 2 done already" in done.stdout


def test_what_goes_on_from_a_study_is_a_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = "defaults:\n  - override /study: linear_modes\nname: base\n"
    for name, text in (("base", study), ("more", "defaults: [base]\nname: more\n")):
        (tmp_path / "exp").mkdir(exist_ok=True)
        (tmp_path / "exp" / f"{name}.yaml").write_text(text)
    monkeypatch.setattr("ntkexp.projects.configs", lambda: [("mine", tmp_path)])
    commands = {one.name: one.command for one in experiments.__wrapped__()}
    assert (commands["base"], commands["more"], commands["disk"]) == ("study", "study", "train")


def test_no_two_experiments_are_the_same_run() -> None:
    """Sweeps apart: theirs may begin at the same point, and meet there."""
    names = [experiment.name for experiment in TRAINED if not experiment.sweep]
    assert len({identity(composed([f"+exp={name}"])) for name in names}) == len(names)


def test_every_trained_figure_has_its_experiment() -> None:
    figures = {figure for experiment in TRAINED for figure in experiment.figures}
    assert {"2", "3", "4", "6", "7", "11", "12", "13", "14"} <= figures
