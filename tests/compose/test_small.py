"""scale=small agrees with the checks: for every component, every experiment, and what it needs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from omegaconf import DictConfig, OmegaConf

from ntkexp import components, probes
from ntkexp.components import KINDS
from ntkexp.compose.finalise import finalise
from ntkexp.config import TrainConfig
from ntkexp.errors import UserError
from ntkexp.experiments import Experiment, experiments, swept_by_themselves
from tests.tiny_runs import composer

LIMITED = [
    (kind.group, name)
    for kind in KINDS
    for name in components.names(kind.group)
    if components.find(kind.group, name).small
]
# What a group or a component needs beside itself, and no experiment chooses for it.
BESIDE = {"model": ["data=cifar10"], "torch": ["optim.of=AdamW"]}


def small(command: str, *words: str) -> DictConfig:
    """The final config of a command at scale=small; the runs that it needs are checked as well."""
    config = composer(command).compose([*words, "scale=small"])
    finalise(config, frozenset({"scale"}))
    return config


def chosen(group: str, name: str) -> DictConfig:
    """A component by itself, or where it lacks an option by an experiment that chooses it."""
    command = "study" if group == "study" else "train"
    try:
        return small(command, f"{group}={name}", *BESIDE.get(group, []), *BESIDE.get(name, []))
    except UserError as error:
        if not re.search("has no value|neither is given", str(error)):
            raise
    line = re.compile(rf"- override /{group}: {name}$", re.MULTILINE)
    folder = Path("configs", "exp")
    file = next(file for file in sorted(folder.rglob("*.yaml")) if line.search(file.read_text()))
    return small(command, f"+exp={file.relative_to(folder).with_suffix('')}")


@pytest.mark.parametrize(("group", "name"), LIMITED)
def test_the_limits_of_a_component_pass_its_own_check(group: str, name: str) -> None:
    config = chosen(group, name)
    options = config.probe[name] if group == "probe" else config[group]
    for option, limit in components.find(group, name).small.items():
        value = options[option]
        assert value is None or value <= limit


@pytest.mark.on_demand
@pytest.mark.parametrize("experiment", experiments(), ids=lambda experiment: experiment.name)
def test_an_experiment_and_what_it_needs_is_accepted_small(experiment: Experiment) -> None:
    config = small(experiment.command, f"+exp={experiment.name}")
    assert config.name == experiment.name
    typed = OmegaConf.to_object(config)
    if isinstance(typed, TrainConfig):  # some have no probe
        assert probes.build(typed.probe).keys() == typed.probe.keys()


@pytest.mark.parametrize(
    "name", [name for name, keys in swept_by_themselves().items() if "weights.file" in keys]
)
def test_weights_that_a_sweep_takes_are_kept_in_miniature(name: str) -> None:
    text = Path("configs", "exp", f"{name}.yaml").read_text()
    miniature = text.partition("weights.file: ")[2].partition("}")[0].split("'")[-2]
    steps = {int(file.split(".")[1]) for file in miniature.split(",")}
    network = small("train", f"+exp={small('train', f'+exp={name}').weights.run}")
    assert steps <= {*network.keep.weights}
    assert network.optim.steps is None or max(steps) <= network.optim.steps
