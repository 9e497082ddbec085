"""Every experiment there is composes, its keys make its id, and it lives for two steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from omegaconf import DictConfig, OmegaConf

from ntkexp import components, probes
from ntkexp import identity as identities
from ntkexp.compose.finalise import finalise
from ntkexp.config import TrainConfig
from ntkexp.execution.run import run
from ntkexp.experiments import Experiment, _files, experiments, members_by_themselves
from ntkexp.identity import digest, hashed, plain
from ntkexp.references import references
from ntkexp.training.supervised import Supervised
from tests.conftest import Ntkexp
from tests.docs.pages import TOP
from tests.tiny_runs import composed, composer, identity

pytestmark = pytest.mark.usefixtures("made_images")

TRAINED = [experiment for experiment in experiments() if experiment.command == "train"]


def parts_of(name: str) -> set[str]:
    """The components that an experiment chooses, and the sections that it sets; with those of the
    experiments it goes on from."""
    config = yaml.safe_load((TOP / "configs" / "exp" / f"{name}.yaml").read_text())
    parts = {*config}
    for entry in config.get("defaults", ()):
        if isinstance(entry, str):
            parts |= parts_of(entry) if entry != "_self_" else set()
        else:
            ((group, chosen),) = entry.items()
            names = chosen if isinstance(chosen, list) else [chosen]
            parts |= {f"{group}={name}" for name in names}
    return parts


def that_have_all_parts(names: Iterable[str]) -> set[str]:
    """A few experiments that have every part which one of all has."""
    parts = {name: parts_of(name) for name in names}
    lacking, chosen = set().union(*parts.values()), set()
    while lacking:
        richest = max(parts, key=lambda name: len(parts[name] & lacking))
        chosen.add(richest)
        lacking -= parts[richest]
    return chosen


# What is long at any scale, and whose data, probes, members and routes have tests of their own.
LONG = {
    "adaptive/label_kernel", "lazy/yin_yang", "lazy/yin_yang_linearised", "lazy/c_scores_vgg11",
    "lazy/c_scores_vgg11_lazy", "spectral/classes", "spectral/manifolds",
}  # fmt: skip
QUICK = that_have_all_parts(one.name for one in TRAINED if one.name not in LONG)


@cache
def as_shipped(name: str) -> DictConfig:
    """The config of an experiment at its own size; to be read."""
    return composed([f"+exp={name}"])


@pytest.mark.parametrize("experiment", TRAINED, ids=lambda experiment: experiment.name)
def test_a_training_experiment_composes_and_its_probes_agree(experiment: Experiment) -> None:
    config = as_shipped(experiment.name)
    typed = OmegaConf.to_object(config)
    assert isinstance(typed, TrainConfig)
    assert probes.build(typed.probe).keys() == config.probe.keys()
    assert config.name == experiment.name
    assert config.figures
    assert {*(config.members or ())} == members_by_themselves()[config.name]


@pytest.mark.parametrize(
    "experiment",
    [
        pytest.param(one, id=one.name, marks=[] if one.name in QUICK else [pytest.mark.on_demand])
        for one in TRAINED
    ],
)
def test_a_training_experiment_trains(experiment: Experiment, tmp_path: Path) -> None:
    """At scale=tiny, and whatever it needs first; it writes the tables that it declares."""
    words = [f"+exp={experiment.name}", "scale=tiny", "progress=false", "device=cpu"]
    config = composer("train").compose([*words, "with_parents=true", f"paths.outputs={tmp_path}"])
    plan = finalise(config, frozenset({"scale"}))
    assert run(plan) == 0
    typed = OmegaConf.to_object(config)
    assert isinstance(typed, TrainConfig)
    built = probes.build(typed.probe)
    declared = {table.name for table in probes.all_tables(Supervised.tables(typed), built)}
    written = {file.stem for file in plan.folder.glob("*.parquet")}
    assert written == declared | ({"members"} if config.members else set())


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
        every_key_counts(as_shipped(experiment.name), seen)
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
    monkeypatch.setattr("ntkexp.experiments._files", _files.__wrapped__)
    commands = {one.name: one.command for one in experiments.__wrapped__()}
    assert (commands["base"], commands["more"], commands["disk"]) == ("study", "study", "train")


def test_no_two_experiments_are_the_same_run() -> None:
    """Sweeps apart: theirs may begin at the same point, and meet there. A run that reads another
    has that one's id in its own, once that is there; here the other's options stand for it."""
    configs = [as_shipped(experiment.name) for experiment in TRAINED if not experiment.sweep]
    runs = {(identity(config), str([*references(config)])) for config in configs}
    assert len(runs) == len(configs)


def test_every_trained_figure_has_its_experiment() -> None:
    figures = {figure for experiment in TRAINED for figure in experiment.figures}
    assert {"2", "3", "4", "6", "7", "11", "12", "13", "14"} <= figures
